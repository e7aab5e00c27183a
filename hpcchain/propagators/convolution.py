"""Products of series that the Taylor recursion needs, one function per order.

Written by tools/generate_convolution; change that, not this. For order k and each of a tile's lanes:
force_c = sum_{m<k} tension_m bond_{k-m,c} and rate = sum_{m=1}^{k+1} bond_m . bond_{k+2-m}.
"""

from numba import njit

@njit(cache=True)
def convolve_1(work, o):
    h = work[o : o + 1056]
    for l in range(8):
        h[l + 960] = (
            h[l + 24] * h[l + 32]
        )
        h[l + 976] = (
            h[l + 24] * h[l + 40]
        )
        h[l + 992] = (
            h[l + 24] * h[l + 48]
        )
        cross = (
            h[l + 32] * h[l + 64]
            + h[l + 40] * h[l + 72]
            + h[l + 48] * h[l + 80]
        )
        h[l + 1048] = 2.0 * cross


@njit(cache=True)
def convolve_2(work, o):
    h = work[o : o + 1056]
    for l in range(8):
        h[l + 960] = (
            h[l + 24] * h[l + 64]
            + h[l + 56] * h[l + 32]
        )
        h[l + 976] = (
            h[l + 24] * h[l + 72]
            + h[l + 56] * h[l + 40]
        )
        h[l + 992] = (
            h[l + 24] * h[l + 80]
            + h[l + 56] * h[l + 48]
        )
        cross = (
            h[l + 32] * h[l + 96]
            + h[l + 40] * h[l + 104]
            + h[l + 48] * h[l + 112]
        )
        square = (
            h[l + 64] * h[l + 64]
            + h[l + 72] * h[l + 72]
            + h[l + 80] * h[l + 80]
        )
        h[l + 1048] = 2.0 * cross + square


@njit(cache=True)
def convolve_3(work, o):
    h = work[o : o + 1056]
    for l in range(8):
        h[l + 960] = (
            h[l + 24] * h[l + 96]
            + h[l + 56] * h[l + 64]
            + h[l + 88] * h[l + 32]
        )
        h[l + 976] = (
            h[l + 24] * h[l + 104]
            + h[l + 56] * h[l + 72]
            + h[l + 88] * h[l + 40]
        )
        h[l + 992] = (
            h[l + 24] * h[l + 112]
            + h[l + 56] * h[l + 80]
            + h[l + 88] * h[l + 48]
        )
        cross = (
            h[l + 32] * h[l + 128]
            + h[l + 40] * h[l + 136]
            + h[l + 48] * h[l + 144]
            + h[l + 64] * h[l + 96]
            + h[l + 72] * h[l + 104]
            + h[l + 80] * h[l + 112]
        )
        h[l + 1048] = 2.0 * cross


@njit(cache=True)
def convolve_4(work, o):
    h = work[o : o + 1056]
    for l in range(8):
        h[l + 960] = (
            h[l + 24] * h[l + 128]
            + h[l + 56] * h[l + 96]
            + h[l + 88] * h[l + 64]
            + h[l + 120] * h[l + 32]
        )
        h[l + 976] = (
            h[l + 24] * h[l + 136]
            + h[l + 56] * h[l + 104]
            + h[l + 88] * h[l + 72]
            + h[l + 120] * h[l + 40]
        )
        h[l + 992] = (
            h[l + 24] * h[l + 144]
            + h[l + 56] * h[l + 112]
            + h[l + 88] * h[l + 80]
            + h[l + 120] * h[l + 48]
        )
        cross = (
            h[l + 32] * h[l + 160]
            + h[l + 40] * h[l + 168]
            + h[l + 48] * h[l + 176]
            + h[l + 64] * h[l + 128]
            + h[l + 72] * h[l + 136]
            + h[l + 80] * h[l + 144]
        )
        square = (
            h[l + 96] * h[l + 96]
            + h[l + 104] * h[l + 104]
            + h[l + 112] * h[l + 112]
        )
        h[l + 1048] = 2.0 * cross + square


@njit(cache=True)
def convolve_5(work, o):
    h = work[o : o + 1056]
    for l in range(8):
        h[l + 960] = (
            h[l + 24] * h[l + 160]
            + h[l + 56] * h[l + 128]
            + h[l + 88] * h[l + 96]
            + h[l + 120] * h[l + 64]
            + h[l + 152] * h[l + 32]
        )
        h[l + 976] = (
            h[l + 24] * h[l + 168]
            + h[l + 56] * h[l + 136]
            + h[l + 88] * h[l + 104]
            + h[l + 120] * h[l + 72]
            + h[l + 152] * h[l + 40]
        )
        h[l + 992] = (
            h[l + 24] * h[l + 176]
            + h[l + 56] * h[l + 144]
            + h[l + 88] * h[l + 112]
            + h[l + 120] * h[l + 80]
            + h[l + 152] * h[l + 48]
        )
        cross = (
            h[l + 32] * h[l + 192]
            + h[l + 40] * h[l + 200]
            + h[l + 48] * h[l + 208]
            + h[l + 64] * h[l + 160]
            + h[l + 72] * h[l + 168]
            + h[l + 80] * h[l + 176]
            + h[l + 96] * h[l + 128]
            + h[l + 104] * h[l + 136]
            + h[l + 112] * h[l + 144]
        )
        h[l + 1048] = 2.0 * cross


@njit(cache=True)
def convolve_6(work, o):
    h = work[o : o + 1056]
    for l in range(8):
        h[l + 960] = (
            h[l + 24] * h[l + 192]
            + h[l + 56] * h[l + 160]
            + h[l + 88] * h[l + 128]
            + h[l + 120] * h[l + 96]
            + h[l + 152] * h[l + 64]
            + h[l + 184] * h[l + 32]
        )
        h[l + 976] = (
            h[l + 24] * h[l + 200]
            + h[l + 56] * h[l + 168]
            + h[l + 88] * h[l + 136]
            + h[l + 120] * h[l + 104]
            + h[l + 152] * h[l + 72]
            + h[l + 184] * h[l + 40]
        )
        h[l + 992] = (
            h[l + 24] * h[l + 208]
            + h[l + 56] * h[l + 176]
            + h[l + 88] * h[l + 144]
            + h[l + 120] * h[l + 112]
            + h[l + 152] * h[l + 80]
            + h[l + 184] * h[l + 48]
        )
        cross = (
            h[l + 32] * h[l + 224]
            + h[l + 40] * h[l + 232]
            + h[l + 48] * h[l + 240]
            + h[l + 64] * h[l + 192]
            + h[l + 72] * h[l + 200]
            + h[l + 80] * h[l + 208]
            + h[l + 96] * h[l + 160]
            + h[l + 104] * h[l + 168]
            + h[l + 112] * h[l + 176]
        )
        square = (
            h[l + 128] * h[l + 128]
            + h[l + 136] * h[l + 136]
            + h[l + 144] * h[l + 144]
        )
        h[l + 1048] = 2.0 * cross + square


@njit(cache=True)
def convolve_7(work, o):
    h = work[o : o + 1056]
    for l in range(8):
        h[l + 960] = (
            h[l + 24] * h[l + 224]
            + h[l + 56] * h[l + 192]
            + h[l + 88] * h[l + 160]
            + h[l + 120] * h[l + 128]
            + h[l + 152] * h[l + 96]
            + h[l + 184] * h[l + 64]
            + h[l + 216] * h[l + 32]
        )
        h[l + 976] = (
            h[l + 24] * h[l + 232]
            + h[l + 56] * h[l + 200]
            + h[l + 88] * h[l + 168]
            + h[l + 120] * h[l + 136]
            + h[l + 152] * h[l + 104]
            + h[l + 184] * h[l + 72]
            + h[l + 216] * h[l + 40]
        )
        h[l + 992] = (
            h[l + 24] * h[l + 240]
            + h[l + 56] * h[l + 208]
            + h[l + 88] * h[l + 176]
            + h[l + 120] * h[l + 144]
            + h[l + 152] * h[l + 112]
            + h[l + 184] * h[l + 80]
            + h[l + 216] * h[l + 48]
        )
        cross = (
            h[l + 32] * h[l + 256]
            + h[l + 40] * h[l + 264]
            + h[l + 48] * h[l + 272]
            + h[l + 64] * h[l + 224]
            + h[l + 72] * h[l + 232]
            + h[l + 80] * h[l + 240]
            + h[l + 96] * h[l + 192]
            + h[l + 104] * h[l + 200]
            + h[l + 112] * h[l + 208]
            + h[l + 128] * h[l + 160]
            + h[l + 136] * h[l + 168]
            + h[l + 144] * h[l + 176]
        )
        h[l + 1048] = 2.0 * cross


@njit(cache=True)
def convolve_8(work, o):
    h = work[o : o + 1056]
    for l in range(8):
        h[l + 960] = (
            h[l + 24] * h[l + 256]
            + h[l + 56] * h[l + 224]
            + h[l + 88] * h[l + 192]
            + h[l + 120] * h[l + 160]
            + h[l + 152] * h[l + 128]
            + h[l + 184] * h[l + 96]
            + h[l + 216] * h[l + 64]
            + h[l + 248] * h[l + 32]
        )
        h[l + 976] = (
            h[l + 24] * h[l + 264]
            + h[l + 56] * h[l + 232]
            + h[l + 88] * h[l + 200]
            + h[l + 120] * h[l + 168]
            + h[l + 152] * h[l + 136]
            + h[l + 184] * h[l + 104]
            + h[l + 216] * h[l + 72]
            + h[l + 248] * h[l + 40]
        )
        h[l + 992] = (
            h[l + 24] * h[l + 272]
            + h[l + 56] * h[l + 240]
            + h[l + 88] * h[l + 208]
            + h[l + 120] * h[l + 176]
            + h[l + 152] * h[l + 144]
            + h[l + 184] * h[l + 112]
            + h[l + 216] * h[l + 80]
            + h[l + 248] * h[l + 48]
        )
        cross = (
            h[l + 32] * h[l + 288]
            + h[l + 40] * h[l + 296]
            + h[l + 48] * h[l + 304]
            + h[l + 64] * h[l + 256]
            + h[l + 72] * h[l + 264]
            + h[l + 80] * h[l + 272]
            + h[l + 96] * h[l + 224]
            + h[l + 104] * h[l + 232]
            + h[l + 112] * h[l + 240]
            + h[l + 128] * h[l + 192]
            + h[l + 136] * h[l + 200]
            + h[l + 144] * h[l + 208]
        )
        square = (
            h[l + 160] * h[l + 160]
            + h[l + 168] * h[l + 168]
            + h[l + 176] * h[l + 176]
        )
        h[l + 1048] = 2.0 * cross + square


@njit(cache=True)
def convolve_9(work, o):
    h = work[o : o + 1056]
    for l in range(8):
        h[l + 960] = (
            h[l + 24] * h[l + 288]
            + h[l + 56] * h[l + 256]
            + h[l + 88] * h[l + 224]
            + h[l + 120] * h[l + 192]
            + h[l + 152] * h[l + 160]
            + h[l + 184] * h[l + 128]
            + h[l + 216] * h[l + 96]
            + h[l + 248] * h[l + 64]
            + h[l + 280] * h[l + 32]
        )
        h[l + 976] = (
            h[l + 24] * h[l + 296]
            + h[l + 56] * h[l + 264]
            + h[l + 88] * h[l + 232]
            + h[l + 120] * h[l + 200]
            + h[l + 152] * h[l + 168]
            + h[l + 184] * h[l + 136]
            + h[l + 216] * h[l + 104]
            + h[l + 248] * h[l + 72]
            + h[l + 280] * h[l + 40]
        )
        h[l + 992] = (
            h[l + 24] * h[l + 304]
            + h[l + 56] * h[l + 272]
            + h[l + 88] * h[l + 240]
            + h[l + 120] * h[l + 208]
            + h[l + 152] * h[l + 176]
            + h[l + 184] * h[l + 144]
            + h[l + 216] * h[l + 112]
            + h[l + 248] * h[l + 80]
            + h[l + 280] * h[l + 48]
        )
        cross = (
            h[l + 32] * h[l + 320]
            + h[l + 40] * h[l + 328]
            + h[l + 48] * h[l + 336]
            + h[l + 64] * h[l + 288]
            + h[l + 72] * h[l + 296]
            + h[l + 80] * h[l + 304]
            + h[l + 96] * h[l + 256]
            + h[l + 104] * h[l + 264]
            + h[l + 112] * h[l + 272]
            + h[l + 128] * h[l + 224]
            + h[l + 136] * h[l + 232]
            + h[l + 144] * h[l + 240]
            + h[l + 160] * h[l + 192]
            + h[l + 168] * h[l + 200]
            + h[l + 176] * h[l + 208]
        )
        h[l + 1048] = 2.0 * cross


@njit(cache=True)
def convolve_10(work, o):
    h = work[o : o + 1056]
    for l in range(8):
        h[l + 960] = (
            h[l + 24] * h[l + 320]
            + h[l + 56] * h[l + 288]
            + h[l + 88] * h[l + 256]
            + h[l + 120] * h[l + 224]
            + h[l + 152] * h[l + 192]
            + h[l + 184] * h[l + 160]
            + h[l + 216] * h[l + 128]
            + h[l + 248] * h[l + 96]
            + h[l + 280] * h[l + 64]
            + h[l + 312] * h[l + 32]
        )
        h[l + 976] = (
            h[l + 24] * h[l + 328]
            + h[l + 56] * h[l + 296]
            + h[l + 88] * h[l + 264]
            + h[l + 120] * h[l + 232]
            + h[l + 152] * h[l + 200]
            + h[l + 184] * h[l + 168]
            + h[l + 216] * h[l + 136]
            + h[l + 248] * h[l + 104]
            + h[l + 280] * h[l + 72]
            + h[l + 312] * h[l + 40]
        )
        h[l + 992] = (
            h[l + 24] * h[l + 336]
            + h[l + 56] * h[l + 304]
            + h[l + 88] * h[l + 272]
            + h[l + 120] * h[l + 240]
            + h[l + 152] * h[l + 208]
            + h[l + 184] * h[l + 176]
            + h[l + 216] * h[l + 144]
            + h[l + 248] * h[l + 112]
            + h[l + 280] * h[l + 80]
            + h[l + 312] * h[l + 48]
        )
        cross = (
            h[l + 32] * h[l + 352]
            + h[l + 40] * h[l + 360]
            + h[l + 48] * h[l + 368]
            + h[l + 64] * h[l + 320]
            + h[l + 72] * h[l + 328]
            + h[l + 80] * h[l + 336]
            + h[l + 96] * h[l + 288]
            + h[l + 104] * h[l + 296]
            + h[l + 112] * h[l + 304]
            + h[l + 128] * h[l + 256]
            + h[l + 136] * h[l + 264]
            + h[l + 144] * h[l + 272]
            + h[l + 160] * h[l + 224]
            + h[l + 168] * h[l + 232]
            + h[l + 176] * h[l + 240]
        )
        square = (
            h[l + 192] * h[l + 192]
            + h[l + 200] * h[l + 200]
            + h[l + 208] * h[l + 208]
        )
        h[l + 1048] = 2.0 * cross + square


@njit(cache=True)
def convolve_11(work, o):
    h = work[o : o + 1056]
    for l in range(8):
        h[l + 960] = (
            h[l + 24] * h[l + 352]
            + h[l + 56] * h[l + 320]
            + h[l + 88] * h[l + 288]
            + h[l + 120] * h[l + 256]
            + h[l + 152] * h[l + 224]
            + h[l + 184] * h[l + 192]
            + h[l + 216] * h[l + 160]
            + h[l + 248] * h[l + 128]
            + h[l + 280] * h[l + 96]
            + h[l + 312] * h[l + 64]
            + h[l + 344] * h[l + 32]
        )
        h[l + 976] = (
            h[l + 24] * h[l + 360]
            + h[l + 56] * h[l + 328]
            + h[l + 88] * h[l + 296]
            + h[l + 120] * h[l + 264]
            + h[l + 152] * h[l + 232]
            + h[l + 184] * h[l + 200]
            + h[l + 216] * h[l + 168]
            + h[l + 248] * h[l + 136]
            + h[l + 280] * h[l + 104]
            + h[l + 312] * h[l + 72]
            + h[l + 344] * h[l + 40]
        )
        h[l + 992] = (
            h[l + 24] * h[l + 368]
            + h[l + 56] * h[l + 336]
            + h[l + 88] * h[l + 304]
            + h[l + 120] * h[l + 272]
            + h[l + 152] * h[l + 240]
            + h[l + 184] * h[l + 208]
            + h[l + 216] * h[l + 176]
            + h[l + 248] * h[l + 144]
            + h[l + 280] * h[l + 112]
            + h[l + 312] * h[l + 80]
            + h[l + 344] * h[l + 48]
        )
        cross = (
            h[l + 32] * h[l + 384]
            + h[l + 40] * h[l + 392]
            + h[l + 48] * h[l + 400]
            + h[l + 64] * h[l + 352]
            + h[l + 72] * h[l + 360]
            + h[l + 80] * h[l + 368]
            + h[l + 96] * h[l + 320]
            + h[l + 104] * h[l + 328]
            + h[l + 112] * h[l + 336]
            + h[l + 128] * h[l + 288]
            + h[l + 136] * h[l + 296]
            + h[l + 144] * h[l + 304]
            + h[l + 160] * h[l + 256]
            + h[l + 168] * h[l + 264]
            + h[l + 176] * h[l + 272]
            + h[l + 192] * h[l + 224]
            + h[l + 200] * h[l + 232]
            + h[l + 208] * h[l + 240]
        )
        h[l + 1048] = 2.0 * cross


@njit(cache=True)
def convolve_12(work, o):
    h = work[o : o + 1056]
    for l in range(8):
        h[l + 960] = (
            h[l + 24] * h[l + 384]
            + h[l + 56] * h[l + 352]
            + h[l + 88] * h[l + 320]
            + h[l + 120] * h[l + 288]
            + h[l + 152] * h[l + 256]
            + h[l + 184] * h[l + 224]
            + h[l + 216] * h[l + 192]
            + h[l + 248] * h[l + 160]
            + h[l + 280] * h[l + 128]
            + h[l + 312] * h[l + 96]
            + h[l + 344] * h[l + 64]
            + h[l + 376] * h[l + 32]
        )
        h[l + 976] = (
            h[l + 24] * h[l + 392]
            + h[l + 56] * h[l + 360]
            + h[l + 88] * h[l + 328]
            + h[l + 120] * h[l + 296]
            + h[l + 152] * h[l + 264]
            + h[l + 184] * h[l + 232]
            + h[l + 216] * h[l + 200]
            + h[l + 248] * h[l + 168]
            + h[l + 280] * h[l + 136]
            + h[l + 312] * h[l + 104]
            + h[l + 344] * h[l + 72]
            + h[l + 376] * h[l + 40]
        )
        h[l + 992] = (
            h[l + 24] * h[l + 400]
            + h[l + 56] * h[l + 368]
            + h[l + 88] * h[l + 336]
            + h[l + 120] * h[l + 304]
            + h[l + 152] * h[l + 272]
            + h[l + 184] * h[l + 240]
            + h[l + 216] * h[l + 208]
            + h[l + 248] * h[l + 176]
            + h[l + 280] * h[l + 144]
            + h[l + 312] * h[l + 112]
            + h[l + 344] * h[l + 80]
            + h[l + 376] * h[l + 48]
        )
        cross = (
            h[l + 32] * h[l + 416]
            + h[l + 40] * h[l + 424]
            + h[l + 48] * h[l + 432]
            + h[l + 64] * h[l + 384]
            + h[l + 72] * h[l + 392]
            + h[l + 80] * h[l + 400]
            + h[l + 96] * h[l + 352]
            + h[l + 104] * h[l + 360]
            + h[l + 112] * h[l + 368]
            + h[l + 128] * h[l + 320]
            + h[l + 136] * h[l + 328]
            + h[l + 144] * h[l + 336]
            + h[l + 160] * h[l + 288]
            + h[l + 168] * h[l + 296]
            + h[l + 176] * h[l + 304]
            + h[l + 192] * h[l + 256]
            + h[l + 200] * h[l + 264]
            + h[l + 208] * h[l + 272]
        )
        square = (
            h[l + 224] * h[l + 224]
            + h[l + 232] * h[l + 232]
            + h[l + 240] * h[l + 240]
        )
        h[l + 1048] = 2.0 * cross + square


@njit(cache=True)
def convolve_13(work, o):
    h = work[o : o + 1056]
    for l in range(8):
        h[l + 960] = (
            h[l + 24] * h[l + 416]
            + h[l + 56] * h[l + 384]
            + h[l + 88] * h[l + 352]
            + h[l + 120] * h[l + 320]
            + h[l + 152] * h[l + 288]
            + h[l + 184] * h[l + 256]
            + h[l + 216] * h[l + 224]
            + h[l + 248] * h[l + 192]
            + h[l + 280] * h[l + 160]
            + h[l + 312] * h[l + 128]
            + h[l + 344] * h[l + 96]
            + h[l + 376] * h[l + 64]
            + h[l + 408] * h[l + 32]
        )
        h[l + 976] = (
            h[l + 24] * h[l + 424]
            + h[l + 56] * h[l + 392]
            + h[l + 88] * h[l + 360]
            + h[l + 120] * h[l + 328]
            + h[l + 152] * h[l + 296]
            + h[l + 184] * h[l + 264]
            + h[l + 216] * h[l + 232]
            + h[l + 248] * h[l + 200]
            + h[l + 280] * h[l + 168]
            + h[l + 312] * h[l + 136]
            + h[l + 344] * h[l + 104]
            + h[l + 376] * h[l + 72]
            + h[l + 408] * h[l + 40]
        )
        h[l + 992] = (
            h[l + 24] * h[l + 432]
            + h[l + 56] * h[l + 400]
            + h[l + 88] * h[l + 368]
            + h[l + 120] * h[l + 336]
            + h[l + 152] * h[l + 304]
            + h[l + 184] * h[l + 272]
            + h[l + 216] * h[l + 240]
            + h[l + 248] * h[l + 208]
            + h[l + 280] * h[l + 176]
            + h[l + 312] * h[l + 144]
            + h[l + 344] * h[l + 112]
            + h[l + 376] * h[l + 80]
            + h[l + 408] * h[l + 48]
        )
        cross = (
            h[l + 32] * h[l + 448]
            + h[l + 40] * h[l + 456]
            + h[l + 48] * h[l + 464]
            + h[l + 64] * h[l + 416]
            + h[l + 72] * h[l + 424]
            + h[l + 80] * h[l + 432]
            + h[l + 96] * h[l + 384]
            + h[l + 104] * h[l + 392]
            + h[l + 112] * h[l + 400]
            + h[l + 128] * h[l + 352]
            + h[l + 136] * h[l + 360]
            + h[l + 144] * h[l + 368]
            + h[l + 160] * h[l + 320]
            + h[l + 168] * h[l + 328]
            + h[l + 176] * h[l + 336]
            + h[l + 192] * h[l + 288]
            + h[l + 200] * h[l + 296]
            + h[l + 208] * h[l + 304]
            + h[l + 224] * h[l + 256]
            + h[l + 232] * h[l + 264]
            + h[l + 240] * h[l + 272]
        )
        h[l + 1048] = 2.0 * cross


@njit(cache=True)
def convolve_14(work, o):
    h = work[o : o + 1056]
    for l in range(8):
        h[l + 960] = (
            h[l + 24] * h[l + 448]
            + h[l + 56] * h[l + 416]
            + h[l + 88] * h[l + 384]
            + h[l + 120] * h[l + 352]
            + h[l + 152] * h[l + 320]
            + h[l + 184] * h[l + 288]
            + h[l + 216] * h[l + 256]
            + h[l + 248] * h[l + 224]
            + h[l + 280] * h[l + 192]
            + h[l + 312] * h[l + 160]
            + h[l + 344] * h[l + 128]
            + h[l + 376] * h[l + 96]
            + h[l + 408] * h[l + 64]
            + h[l + 440] * h[l + 32]
        )
        h[l + 976] = (
            h[l + 24] * h[l + 456]
            + h[l + 56] * h[l + 424]
            + h[l + 88] * h[l + 392]
            + h[l + 120] * h[l + 360]
            + h[l + 152] * h[l + 328]
            + h[l + 184] * h[l + 296]
            + h[l + 216] * h[l + 264]
            + h[l + 248] * h[l + 232]
            + h[l + 280] * h[l + 200]
            + h[l + 312] * h[l + 168]
            + h[l + 344] * h[l + 136]
            + h[l + 376] * h[l + 104]
            + h[l + 408] * h[l + 72]
            + h[l + 440] * h[l + 40]
        )
        h[l + 992] = (
            h[l + 24] * h[l + 464]
            + h[l + 56] * h[l + 432]
            + h[l + 88] * h[l + 400]
            + h[l + 120] * h[l + 368]
            + h[l + 152] * h[l + 336]
            + h[l + 184] * h[l + 304]
            + h[l + 216] * h[l + 272]
            + h[l + 248] * h[l + 240]
            + h[l + 280] * h[l + 208]
            + h[l + 312] * h[l + 176]
            + h[l + 344] * h[l + 144]
            + h[l + 376] * h[l + 112]
            + h[l + 408] * h[l + 80]
            + h[l + 440] * h[l + 48]
        )
        cross = (
            h[l + 32] * h[l + 480]
            + h[l + 40] * h[l + 488]
            + h[l + 48] * h[l + 496]
            + h[l + 64] * h[l + 448]
            + h[l + 72] * h[l + 456]
            + h[l + 80] * h[l + 464]
            + h[l + 96] * h[l + 416]
            + h[l + 104] * h[l + 424]
            + h[l + 112] * h[l + 432]
            + h[l + 128] * h[l + 384]
            + h[l + 136] * h[l + 392]
            + h[l + 144] * h[l + 400]
            + h[l + 160] * h[l + 352]
            + h[l + 168] * h[l + 360]
            + h[l + 176] * h[l + 368]
            + h[l + 192] * h[l + 320]
            + h[l + 200] * h[l + 328]
            + h[l + 208] * h[l + 336]
            + h[l + 224] * h[l + 288]
            + h[l + 232] * h[l + 296]
            + h[l + 240] * h[l + 304]
        )
        square = (
            h[l + 256] * h[l + 256]
            + h[l + 264] * h[l + 264]
            + h[l + 272] * h[l + 272]
        )
        h[l + 1048] = 2.0 * cross + square


@njit(cache=True)
def convolve(k, work, o):
    """Fill the force and rate rows of the tile at offset o of `work` for order k >= 1."""
    if k == 1:
        convolve_1(work, o)
    elif k == 2:
        convolve_2(work, o)
    elif k == 3:
        convolve_3(work, o)
    elif k == 4:
        convolve_4(work, o)
    elif k == 5:
        convolve_5(work, o)
    elif k == 6:
        convolve_6(work, o)
    elif k == 7:
        convolve_7(work, o)
    elif k == 8:
        convolve_8(work, o)
    elif k == 9:
        convolve_9(work, o)
    elif k == 10:
        convolve_10(work, o)
    elif k == 11:
        convolve_11(work, o)
    elif k == 12:
        convolve_12(work, o)
    elif k == 13:
        convolve_13(work, o)
    elif k == 14:
        convolve_14(work, o)
