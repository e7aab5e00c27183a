"""How kernels are given a sector: by one pointer to a table that says where each of its arrays lies.

Numba hands a tuple of arrays over by value, several words for each array at each call that is not inlined. With some
fifty arrays such calls cost more than what they do, and most of the time of compiling goes into them. In kernels an
attribute of a sector is the array itself, taken from the table where it is used. The table is never changed while
kernels run, and the compiler knows it: it may keep what it has read from it.
"""

from collections import namedtuple
from functools import cached_property
from itertools import product

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.core.imputils import lower_getattr_generic
from numba.core.typing.templates import AttributeTemplate, infer_getattr
from numba.extending import NativeValue, intrinsic, models, register_model, typeof_impl, unbox
from numba.np.arrayobj import make_array, populate_array

from hpcchain.jit import shared_rows

PLAIN = {}  # structures by their addresses, where nothing is compiled
WORDS = 3  # of a field in the table: address, and the lengths of at most two axes
ELEMENTS = {"f8": types.float64, "f4": types.float32, "i8": types.int64, "i4": types.int32, "i1": types.int8}
INT64 = ir.IntType(64)


class Field:
    """What a field is: element type and, with two axes, columns and how far apart rows are.

    Parameters
    ----------
    text : str
        As "f8" (one axis), "f8 4" (rows of four), "f8 4/16" (rows of four, sixteen elements apart) or "f8 :" (rows
        whose length is read from the table).
    """

    def __init__(self, text):
        element, _, rows = text.partition(" ")
        columns, _, stride = rows.partition("/")
        self.dtype = np.dtype(element)
        self.axes = 2 if rows else 1
        self.columns = int(columns) if columns not in ("", ":") else None
        self.stride = int(stride) if stride else self.columns
        self.numba = types.Array(ELEMENTS[element], self.axes, "A" if stride else "C")

    def fits(self, array):
        """Whether an array is of this kind."""
        if array.dtype != self.dtype or array.ndim != self.axes:
            return False
        if self.columns is None:
            return array.flags.c_contiguous
        size = self.dtype.itemsize
        return array.shape[1] == self.columns and (len(array) < 2 or array.strides == (self.stride * size, size))


class HandedType(types.Type):
    """The type, in kernels, of a named tuple of arrays that is handed over by one pointer.

    Parameters
    ----------
    name : str
    fields : dict of str -> Field
    options : dict of str -> bool
        Options, and whether they are taken.
    joined : dict of str -> (str, str)
        See `kernel_struct`.
    """

    def __init__(self, name, fields, options, joined):
        super().__init__(f"{name} {options}")
        self.fields, self.options, self.joined = fields, options, joined

    def joined_type(self, attr):
        """Return the type of a table of rows with columns in common."""
        return shared_rows.SharedRowsType(self.fields[self.joined[attr][1]].columns)


register_model(HandedType)(models.OpaqueModel)


def kernel_struct(name, texts, options=(), joined=None):
    """Return a named tuple class whose instances kernels take by one pointer.

    Parameters
    ----------
    name : str
    texts : dict of str -> str
        Fields and what they are (`Field`).
    options : tuple of str
        Further fields, None or True. Kernels are compiled anew for each choice of them, without the branches on
        `option is not None` of a function that is given one which is None.
    joined : dict of str -> (str, str)
        Further names, each of a `shared_rows.SharedRows` of two of the fields.
    """
    fields, joined = {field: Field(text) for field, text in texts.items()}, joined or {}
    kinds = {
        taken: HandedType(name, fields, dict(zip(options, taken, strict=True)), joined)
        for taken in product((False, True), repeat=len(options))
    }

    class Arrays(namedtuple(name, [*fields, *options])):
        """Arrays by name."""

        @cached_property
        def whereabouts(self):
            """(fields, WORDS) int64 array: addresses and lengths of arrays that are what kernels take them for."""
            found = np.zeros((len(fields), WORDS), dtype=np.int64)
            for row, (field, what), array in zip(found, fields.items(), self[: len(fields)], strict=True):
                if not what.fits(array):
                    raise TypeError(
                        f"{name}.{field}: {array.dtype} {array.shape}, strides {array.strides}, is not '{texts[field]}'"
                    )
                row[0] = array.ctypes.data
                row[1 : 1 + array.ndim] = array.shape
            return found

        @cached_property
        def address(self):
            """Where `whereabouts` lies."""
            place = self.whereabouts.ctypes.data
            if config.DISABLE_JIT:
                PLAIN[place] = self
            return place

    for both, (own, common) in joined.items():
        setattr(
            Arrays,
            both,
            property(lambda self, a=own, b=common: shared_rows.SharedRows(getattr(self, a), getattr(self, b))),
        )
    Arrays.__name__ = Arrays.__qualname__ = name
    typeof_impl.register(Arrays)(
        lambda value, context: kinds[tuple(getattr(value, offset) is not None for offset in options)]
    )
    return Arrays


@unbox(HandedType)
def _unbox(typ, value, c):
    address = c.pyapi.object_getattr_string(value, "address")
    pointer = cgutils.alloca_once_value(c.builder, cgutils.get_null_value(c.context.get_value_type(typ)))
    with c.builder.if_then(cgutils.is_not_null(c.builder, address)):
        c.builder.store(c.pyapi.long_as_voidptr(address), pointer)
        c.pyapi.decref(address)
    return NativeValue(c.builder.load(pointer), is_error=cgutils.is_not_null(c.builder, c.pyapi.err_occurred()))


@intrinsic
def another(typing, given, address):
    """Return the structure of the same kind, and with the same options, whose `address` is given."""

    def write(context, builder, signature, args):
        return builder.inttoptr(args[1], context.get_value_type(signature.return_type))

    return given(given, types.int64), write


if config.DISABLE_JIT:

    def another(given, address):
        """Return the structure of an address."""
        return PLAIN[address]


@infer_getattr
class _Fields(AttributeTemplate):
    key = HandedType

    def generic_resolve(self, typ, attr):
        if attr in typ.options:
            return types.boolean if typ.options[attr] else types.none
        if attr in typ.joined:
            return typ.joined_type(attr)
        return typ.fields[attr].numba if attr in typ.fields else None


@lower_getattr_generic(HandedType)
def _field(context, builder, typ, value, attr):
    """Make the array out of its row of the table; what is the same for all sectors is a constant."""
    if attr in typ.options:
        return context.get_constant(types.boolean, True) if typ.options[attr] else context.get_dummy_value()
    table = builder.bitcast(value, INT64.as_pointer())
    if attr in typ.joined:
        words = [_word(builder, table, WORDS * list(typ.fields).index(each)) for each in typ.joined[attr]]
        return shared_rows.made(context, builder, typ.joined_type(attr), *words)
    field = typ.fields[attr]
    first = WORDS * list(typ.fields).index(attr)
    size = field.dtype.itemsize
    shape = [_word(builder, table, first + 1)]
    strides = [INT64(size)]
    if field.axes == 2:
        shape.append(_word(builder, table, first + 2) if field.columns is None else INT64(field.columns))
        strides.insert(0, builder.mul(shape[1], INT64(size)) if field.columns is None else INT64(field.stride * size))
    array = make_array(field.numba)(context, builder)
    pointer = builder.inttoptr(_word(builder, table, first), array.data.type)
    populate_array(array, data=pointer, shape=shape, strides=strides, itemsize=INT64(size), meminfo=None)
    return array._getvalue()


def _word(builder, table, k):
    """Read a word of the table, which nothing changes while kernels run."""
    word = builder.load(builder.gep(table, [ir.Constant(INT64, k)], inbounds=True))
    word.set_metadata("invariant.load", builder.module.add_metadata([]))
    return word
