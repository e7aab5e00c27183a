"""A table of rows of which many have some columns in common: those are kept once for all rows of a class.

A row has a few 32-bit columns of its own, one of which names its class; the further columns are the class's. Kernels
read both alike, `table[row, column]`, as int64, and write columns of a row's own. Where the column is a constant
the compiler leaves out the question whose it is.
"""

import operator

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import NativeValue, lower_builtin, models, register_model, typeof_impl, unbox

OWN_COLUMNS = 8  # a row's own: 32 bytes
CLASS = 1  # the one that names its class
INT32, INT64 = ir.IntType(32), ir.IntType(64)


class SharedRows:
    """The table, in Python.

    Parameters
    ----------
    own : (n, OWN_COLUMNS) int32 array
        What each row has for itself.
    common : (k, c) int64 array
        The columns from OWN_COLUMNS on, of each class.
    """

    def __init__(self, own, common):
        self.own, self.common = own, common

    def __len__(self):
        """Return the number of rows."""
        return len(self.own)

    def __getitem__(self, index):
        """Return entries of some rows: of one column, or of a slice of the rows' own columns."""
        rows, column = index
        if isinstance(column, slice) or column < OWN_COLUMNS:
            return self.own[rows, column].astype(np.int64)
        return self.common[self.own[rows, CLASS], column - OWN_COLUMNS]

    def __setitem__(self, index, value):
        """Set entries of the rows' own columns."""
        if not isinstance(index[1], slice) and index[1] >= OWN_COLUMNS:
            raise IndexError(f"column {index[1]} is that of a class of rows")
        self.own[index] = value


class SharedRowsType(types.Type):
    """The type of such a table in kernels: where its two arrays are."""

    def __init__(self, columns):
        super().__init__(f"SharedRows({columns})")
        self.columns = columns


@register_model(SharedRowsType)
class _Model(models.StructModel):
    def __init__(self, manager, kind):
        members = [("own", types.CPointer(types.int32)), ("common", types.CPointer(types.int64))]
        super().__init__(manager, kind, members)


def made(context, builder, kind, own, common):
    """Return a table's value in kernels from the addresses of its arrays, int64."""
    table = cgutils.create_struct_proxy(kind)(context, builder)
    table.own = builder.inttoptr(own, table.own.type)
    table.common = builder.inttoptr(common, table.common.type)
    return table._getvalue()


@typeof_impl.register(SharedRows)
def _typeof(value, context):
    return SharedRowsType(value.common.shape[1])


@unbox(SharedRowsType)
def _unbox(kind, value, c):
    words = []
    for name in ("own", "common"):
        array = c.pyapi.object_getattr_string(value, name)
        interface = c.pyapi.object_getattr_string(array, "ctypes")
        address = c.pyapi.object_getattr_string(interface, "data")
        words.append(c.pyapi.long_as_longlong(address))
        for each in (address, interface, array):
            c.pyapi.decref(each)
    return NativeValue(made(c.context, c.builder, kind, *words), cgutils.is_not_null(c.builder, c.pyapi.err_occurred()))


@infer_global(operator.getitem)
class _Get(AbstractTemplate):
    def generic(self, args, _):
        if isinstance(args[0], SharedRowsType) and isinstance(args[1], types.BaseTuple):
            return signature(types.int64, *args)
        return None


@infer_global(operator.setitem)
class _Set(AbstractTemplate):
    def generic(self, args, _):
        if isinstance(args[0], SharedRowsType) and isinstance(args[1], types.BaseTuple):
            return signature(types.none, *args)
        return None


@lower_builtin(operator.getitem, SharedRowsType, types.BaseTuple)
def _get(context, builder, sig, args):
    kind, index = sig.args
    table = cgutils.create_struct_proxy(kind)(context, builder, value=args[0])
    row, column = _position(context, builder, index, args[1])
    first = builder.mul(row, INT64(OWN_COLUMNS))
    whose = builder.icmp_signed("<", column, INT64(OWN_COLUMNS))
    with builder.if_else(whose, likely=True) as (own, common):
        with own:
            mine = builder.sext(builder.load(builder.gep(table.own, [builder.add(first, column)])), INT64)
            here = builder.block
        with common:
            name = builder.load(builder.gep(table.own, [builder.add(first, INT64(CLASS))]))
            at = builder.mul(builder.sext(name, INT64), INT64(kind.columns))
            at = builder.add(at, builder.sub(column, INT64(OWN_COLUMNS)))
            ours = builder.load(builder.gep(table.common, [at]))
            ours.set_metadata("invariant.load", builder.module.add_metadata([]))  # no kernel changes a class
            there = builder.block
    found = builder.phi(INT64)
    found.add_incoming(mine, here)
    found.add_incoming(ours, there)
    return found


@lower_builtin(operator.setitem, SharedRowsType, types.BaseTuple, types.Any)
def _set(context, builder, sig, args):
    kind, index, given = sig.args
    table = cgutils.create_struct_proxy(kind)(context, builder, value=args[0])
    row, column = _position(context, builder, index, args[1])
    at = builder.add(builder.mul(row, INT64(OWN_COLUMNS)), column)
    value = context.cast(builder, args[2], given, types.int64)
    builder.store(builder.trunc(value, INT32), builder.gep(table.own, [at]))
    return context.get_dummy_value()


def _position(context, builder, index, value):
    """Return row and column, int64, of a pair that is an index."""
    pair = zip(cgutils.unpack_tuple(builder, value), index, strict=True)
    return [context.cast(builder, each, kind, types.int64) for each, kind in pair]
