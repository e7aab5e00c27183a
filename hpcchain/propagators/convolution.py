"""Products of series that the Taylor recursion needs, one function per order.

Written by tools/generate_convolution; change that, not this. For order k and each of a tile's lanes:
force_c = sum_{m<k} tension_m bond_{k-m,c} and rate = sum_{m=1}^{k+1} bond_m . bond_{k+2-m}; then the accelerations of
that order give the coefficients of order k + 2 of beads and bonds.
"""

from hpcchain.kernel import kernel


@kernel
def convolve_1(work, o):
    h = work[o : o + 1056]
    for i in range(8):
        h[i + 960] = (
            h[i + 24] * h[i + 32]
        )
        h[i + 976] = (
            h[i + 24] * h[i + 40]
        )
        h[i + 992] = (
            h[i + 24] * h[i + 48]
        )
        cross = (
            h[i + 32] * h[i + 64]
            + h[i + 40] * h[i + 72]
            + h[i + 48] * h[i + 80]
        )
        h[i + 1048] = 2.0 * cross


@kernel
def convolve_2(work, o):
    h = work[o : o + 1056]
    for i in range(8):
        h[i + 960] = (
            h[i + 24] * h[i + 64]
            + h[i + 56] * h[i + 32]
        )
        h[i + 976] = (
            h[i + 24] * h[i + 72]
            + h[i + 56] * h[i + 40]
        )
        h[i + 992] = (
            h[i + 24] * h[i + 80]
            + h[i + 56] * h[i + 48]
        )
        cross = (
            h[i + 32] * h[i + 96]
            + h[i + 40] * h[i + 104]
            + h[i + 48] * h[i + 112]
        )
        square = (
            h[i + 64] * h[i + 64]
            + h[i + 72] * h[i + 72]
            + h[i + 80] * h[i + 80]
        )
        h[i + 1048] = 2.0 * cross + square


@kernel
def convolve_3(work, o):
    h = work[o : o + 1056]
    for i in range(8):
        h[i + 960] = (
            h[i + 24] * h[i + 96]
            + h[i + 56] * h[i + 64]
            + h[i + 88] * h[i + 32]
        )
        h[i + 976] = (
            h[i + 24] * h[i + 104]
            + h[i + 56] * h[i + 72]
            + h[i + 88] * h[i + 40]
        )
        h[i + 992] = (
            h[i + 24] * h[i + 112]
            + h[i + 56] * h[i + 80]
            + h[i + 88] * h[i + 48]
        )
        cross = (
            h[i + 32] * h[i + 128]
            + h[i + 40] * h[i + 136]
            + h[i + 48] * h[i + 144]
            + h[i + 64] * h[i + 96]
            + h[i + 72] * h[i + 104]
            + h[i + 80] * h[i + 112]
        )
        h[i + 1048] = 2.0 * cross


@kernel
def convolve_4(work, o):
    h = work[o : o + 1056]
    for i in range(8):
        h[i + 960] = (
            h[i + 24] * h[i + 128]
            + h[i + 56] * h[i + 96]
            + h[i + 88] * h[i + 64]
            + h[i + 120] * h[i + 32]
        )
        h[i + 976] = (
            h[i + 24] * h[i + 136]
            + h[i + 56] * h[i + 104]
            + h[i + 88] * h[i + 72]
            + h[i + 120] * h[i + 40]
        )
        h[i + 992] = (
            h[i + 24] * h[i + 144]
            + h[i + 56] * h[i + 112]
            + h[i + 88] * h[i + 80]
            + h[i + 120] * h[i + 48]
        )
        cross = (
            h[i + 32] * h[i + 160]
            + h[i + 40] * h[i + 168]
            + h[i + 48] * h[i + 176]
            + h[i + 64] * h[i + 128]
            + h[i + 72] * h[i + 136]
            + h[i + 80] * h[i + 144]
        )
        square = (
            h[i + 96] * h[i + 96]
            + h[i + 104] * h[i + 104]
            + h[i + 112] * h[i + 112]
        )
        h[i + 1048] = 2.0 * cross + square


@kernel
def convolve_5(work, o):
    h = work[o : o + 1056]
    for i in range(8):
        h[i + 960] = (
            h[i + 24] * h[i + 160]
            + h[i + 56] * h[i + 128]
            + h[i + 88] * h[i + 96]
            + h[i + 120] * h[i + 64]
            + h[i + 152] * h[i + 32]
        )
        h[i + 976] = (
            h[i + 24] * h[i + 168]
            + h[i + 56] * h[i + 136]
            + h[i + 88] * h[i + 104]
            + h[i + 120] * h[i + 72]
            + h[i + 152] * h[i + 40]
        )
        h[i + 992] = (
            h[i + 24] * h[i + 176]
            + h[i + 56] * h[i + 144]
            + h[i + 88] * h[i + 112]
            + h[i + 120] * h[i + 80]
            + h[i + 152] * h[i + 48]
        )
        cross = (
            h[i + 32] * h[i + 192]
            + h[i + 40] * h[i + 200]
            + h[i + 48] * h[i + 208]
            + h[i + 64] * h[i + 160]
            + h[i + 72] * h[i + 168]
            + h[i + 80] * h[i + 176]
            + h[i + 96] * h[i + 128]
            + h[i + 104] * h[i + 136]
            + h[i + 112] * h[i + 144]
        )
        h[i + 1048] = 2.0 * cross


@kernel
def convolve_6(work, o):
    h = work[o : o + 1056]
    for i in range(8):
        h[i + 960] = (
            h[i + 24] * h[i + 192]
            + h[i + 56] * h[i + 160]
            + h[i + 88] * h[i + 128]
            + h[i + 120] * h[i + 96]
            + h[i + 152] * h[i + 64]
            + h[i + 184] * h[i + 32]
        )
        h[i + 976] = (
            h[i + 24] * h[i + 200]
            + h[i + 56] * h[i + 168]
            + h[i + 88] * h[i + 136]
            + h[i + 120] * h[i + 104]
            + h[i + 152] * h[i + 72]
            + h[i + 184] * h[i + 40]
        )
        h[i + 992] = (
            h[i + 24] * h[i + 208]
            + h[i + 56] * h[i + 176]
            + h[i + 88] * h[i + 144]
            + h[i + 120] * h[i + 112]
            + h[i + 152] * h[i + 80]
            + h[i + 184] * h[i + 48]
        )
        cross = (
            h[i + 32] * h[i + 224]
            + h[i + 40] * h[i + 232]
            + h[i + 48] * h[i + 240]
            + h[i + 64] * h[i + 192]
            + h[i + 72] * h[i + 200]
            + h[i + 80] * h[i + 208]
            + h[i + 96] * h[i + 160]
            + h[i + 104] * h[i + 168]
            + h[i + 112] * h[i + 176]
        )
        square = (
            h[i + 128] * h[i + 128]
            + h[i + 136] * h[i + 136]
            + h[i + 144] * h[i + 144]
        )
        h[i + 1048] = 2.0 * cross + square


@kernel
def convolve_7(work, o):
    h = work[o : o + 1056]
    for i in range(8):
        h[i + 960] = (
            h[i + 24] * h[i + 224]
            + h[i + 56] * h[i + 192]
            + h[i + 88] * h[i + 160]
            + h[i + 120] * h[i + 128]
            + h[i + 152] * h[i + 96]
            + h[i + 184] * h[i + 64]
            + h[i + 216] * h[i + 32]
        )
        h[i + 976] = (
            h[i + 24] * h[i + 232]
            + h[i + 56] * h[i + 200]
            + h[i + 88] * h[i + 168]
            + h[i + 120] * h[i + 136]
            + h[i + 152] * h[i + 104]
            + h[i + 184] * h[i + 72]
            + h[i + 216] * h[i + 40]
        )
        h[i + 992] = (
            h[i + 24] * h[i + 240]
            + h[i + 56] * h[i + 208]
            + h[i + 88] * h[i + 176]
            + h[i + 120] * h[i + 144]
            + h[i + 152] * h[i + 112]
            + h[i + 184] * h[i + 80]
            + h[i + 216] * h[i + 48]
        )
        cross = (
            h[i + 32] * h[i + 256]
            + h[i + 40] * h[i + 264]
            + h[i + 48] * h[i + 272]
            + h[i + 64] * h[i + 224]
            + h[i + 72] * h[i + 232]
            + h[i + 80] * h[i + 240]
            + h[i + 96] * h[i + 192]
            + h[i + 104] * h[i + 200]
            + h[i + 112] * h[i + 208]
            + h[i + 128] * h[i + 160]
            + h[i + 136] * h[i + 168]
            + h[i + 144] * h[i + 176]
        )
        h[i + 1048] = 2.0 * cross


@kernel
def convolve_8(work, o):
    h = work[o : o + 1056]
    for i in range(8):
        h[i + 960] = (
            h[i + 24] * h[i + 256]
            + h[i + 56] * h[i + 224]
            + h[i + 88] * h[i + 192]
            + h[i + 120] * h[i + 160]
            + h[i + 152] * h[i + 128]
            + h[i + 184] * h[i + 96]
            + h[i + 216] * h[i + 64]
            + h[i + 248] * h[i + 32]
        )
        h[i + 976] = (
            h[i + 24] * h[i + 264]
            + h[i + 56] * h[i + 232]
            + h[i + 88] * h[i + 200]
            + h[i + 120] * h[i + 168]
            + h[i + 152] * h[i + 136]
            + h[i + 184] * h[i + 104]
            + h[i + 216] * h[i + 72]
            + h[i + 248] * h[i + 40]
        )
        h[i + 992] = (
            h[i + 24] * h[i + 272]
            + h[i + 56] * h[i + 240]
            + h[i + 88] * h[i + 208]
            + h[i + 120] * h[i + 176]
            + h[i + 152] * h[i + 144]
            + h[i + 184] * h[i + 112]
            + h[i + 216] * h[i + 80]
            + h[i + 248] * h[i + 48]
        )
        cross = (
            h[i + 32] * h[i + 288]
            + h[i + 40] * h[i + 296]
            + h[i + 48] * h[i + 304]
            + h[i + 64] * h[i + 256]
            + h[i + 72] * h[i + 264]
            + h[i + 80] * h[i + 272]
            + h[i + 96] * h[i + 224]
            + h[i + 104] * h[i + 232]
            + h[i + 112] * h[i + 240]
            + h[i + 128] * h[i + 192]
            + h[i + 136] * h[i + 200]
            + h[i + 144] * h[i + 208]
        )
        square = (
            h[i + 160] * h[i + 160]
            + h[i + 168] * h[i + 168]
            + h[i + 176] * h[i + 176]
        )
        h[i + 1048] = 2.0 * cross + square


@kernel
def convolve_9(work, o):
    h = work[o : o + 1056]
    for i in range(8):
        h[i + 960] = (
            h[i + 24] * h[i + 288]
            + h[i + 56] * h[i + 256]
            + h[i + 88] * h[i + 224]
            + h[i + 120] * h[i + 192]
            + h[i + 152] * h[i + 160]
            + h[i + 184] * h[i + 128]
            + h[i + 216] * h[i + 96]
            + h[i + 248] * h[i + 64]
            + h[i + 280] * h[i + 32]
        )
        h[i + 976] = (
            h[i + 24] * h[i + 296]
            + h[i + 56] * h[i + 264]
            + h[i + 88] * h[i + 232]
            + h[i + 120] * h[i + 200]
            + h[i + 152] * h[i + 168]
            + h[i + 184] * h[i + 136]
            + h[i + 216] * h[i + 104]
            + h[i + 248] * h[i + 72]
            + h[i + 280] * h[i + 40]
        )
        h[i + 992] = (
            h[i + 24] * h[i + 304]
            + h[i + 56] * h[i + 272]
            + h[i + 88] * h[i + 240]
            + h[i + 120] * h[i + 208]
            + h[i + 152] * h[i + 176]
            + h[i + 184] * h[i + 144]
            + h[i + 216] * h[i + 112]
            + h[i + 248] * h[i + 80]
            + h[i + 280] * h[i + 48]
        )
        cross = (
            h[i + 32] * h[i + 320]
            + h[i + 40] * h[i + 328]
            + h[i + 48] * h[i + 336]
            + h[i + 64] * h[i + 288]
            + h[i + 72] * h[i + 296]
            + h[i + 80] * h[i + 304]
            + h[i + 96] * h[i + 256]
            + h[i + 104] * h[i + 264]
            + h[i + 112] * h[i + 272]
            + h[i + 128] * h[i + 224]
            + h[i + 136] * h[i + 232]
            + h[i + 144] * h[i + 240]
            + h[i + 160] * h[i + 192]
            + h[i + 168] * h[i + 200]
            + h[i + 176] * h[i + 208]
        )
        h[i + 1048] = 2.0 * cross


@kernel
def convolve_10(work, o):
    h = work[o : o + 1056]
    for i in range(8):
        h[i + 960] = (
            h[i + 24] * h[i + 320]
            + h[i + 56] * h[i + 288]
            + h[i + 88] * h[i + 256]
            + h[i + 120] * h[i + 224]
            + h[i + 152] * h[i + 192]
            + h[i + 184] * h[i + 160]
            + h[i + 216] * h[i + 128]
            + h[i + 248] * h[i + 96]
            + h[i + 280] * h[i + 64]
            + h[i + 312] * h[i + 32]
        )
        h[i + 976] = (
            h[i + 24] * h[i + 328]
            + h[i + 56] * h[i + 296]
            + h[i + 88] * h[i + 264]
            + h[i + 120] * h[i + 232]
            + h[i + 152] * h[i + 200]
            + h[i + 184] * h[i + 168]
            + h[i + 216] * h[i + 136]
            + h[i + 248] * h[i + 104]
            + h[i + 280] * h[i + 72]
            + h[i + 312] * h[i + 40]
        )
        h[i + 992] = (
            h[i + 24] * h[i + 336]
            + h[i + 56] * h[i + 304]
            + h[i + 88] * h[i + 272]
            + h[i + 120] * h[i + 240]
            + h[i + 152] * h[i + 208]
            + h[i + 184] * h[i + 176]
            + h[i + 216] * h[i + 144]
            + h[i + 248] * h[i + 112]
            + h[i + 280] * h[i + 80]
            + h[i + 312] * h[i + 48]
        )
        cross = (
            h[i + 32] * h[i + 352]
            + h[i + 40] * h[i + 360]
            + h[i + 48] * h[i + 368]
            + h[i + 64] * h[i + 320]
            + h[i + 72] * h[i + 328]
            + h[i + 80] * h[i + 336]
            + h[i + 96] * h[i + 288]
            + h[i + 104] * h[i + 296]
            + h[i + 112] * h[i + 304]
            + h[i + 128] * h[i + 256]
            + h[i + 136] * h[i + 264]
            + h[i + 144] * h[i + 272]
            + h[i + 160] * h[i + 224]
            + h[i + 168] * h[i + 232]
            + h[i + 176] * h[i + 240]
        )
        square = (
            h[i + 192] * h[i + 192]
            + h[i + 200] * h[i + 200]
            + h[i + 208] * h[i + 208]
        )
        h[i + 1048] = 2.0 * cross + square


@kernel
def convolve_11(work, o):
    h = work[o : o + 1056]
    for i in range(8):
        h[i + 960] = (
            h[i + 24] * h[i + 352]
            + h[i + 56] * h[i + 320]
            + h[i + 88] * h[i + 288]
            + h[i + 120] * h[i + 256]
            + h[i + 152] * h[i + 224]
            + h[i + 184] * h[i + 192]
            + h[i + 216] * h[i + 160]
            + h[i + 248] * h[i + 128]
            + h[i + 280] * h[i + 96]
            + h[i + 312] * h[i + 64]
            + h[i + 344] * h[i + 32]
        )
        h[i + 976] = (
            h[i + 24] * h[i + 360]
            + h[i + 56] * h[i + 328]
            + h[i + 88] * h[i + 296]
            + h[i + 120] * h[i + 264]
            + h[i + 152] * h[i + 232]
            + h[i + 184] * h[i + 200]
            + h[i + 216] * h[i + 168]
            + h[i + 248] * h[i + 136]
            + h[i + 280] * h[i + 104]
            + h[i + 312] * h[i + 72]
            + h[i + 344] * h[i + 40]
        )
        h[i + 992] = (
            h[i + 24] * h[i + 368]
            + h[i + 56] * h[i + 336]
            + h[i + 88] * h[i + 304]
            + h[i + 120] * h[i + 272]
            + h[i + 152] * h[i + 240]
            + h[i + 184] * h[i + 208]
            + h[i + 216] * h[i + 176]
            + h[i + 248] * h[i + 144]
            + h[i + 280] * h[i + 112]
            + h[i + 312] * h[i + 80]
            + h[i + 344] * h[i + 48]
        )
        cross = (
            h[i + 32] * h[i + 384]
            + h[i + 40] * h[i + 392]
            + h[i + 48] * h[i + 400]
            + h[i + 64] * h[i + 352]
            + h[i + 72] * h[i + 360]
            + h[i + 80] * h[i + 368]
            + h[i + 96] * h[i + 320]
            + h[i + 104] * h[i + 328]
            + h[i + 112] * h[i + 336]
            + h[i + 128] * h[i + 288]
            + h[i + 136] * h[i + 296]
            + h[i + 144] * h[i + 304]
            + h[i + 160] * h[i + 256]
            + h[i + 168] * h[i + 264]
            + h[i + 176] * h[i + 272]
            + h[i + 192] * h[i + 224]
            + h[i + 200] * h[i + 232]
            + h[i + 208] * h[i + 240]
        )
        h[i + 1048] = 2.0 * cross


@kernel
def convolve_12(work, o):
    h = work[o : o + 1056]
    for i in range(8):
        h[i + 960] = (
            h[i + 24] * h[i + 384]
            + h[i + 56] * h[i + 352]
            + h[i + 88] * h[i + 320]
            + h[i + 120] * h[i + 288]
            + h[i + 152] * h[i + 256]
            + h[i + 184] * h[i + 224]
            + h[i + 216] * h[i + 192]
            + h[i + 248] * h[i + 160]
            + h[i + 280] * h[i + 128]
            + h[i + 312] * h[i + 96]
            + h[i + 344] * h[i + 64]
            + h[i + 376] * h[i + 32]
        )
        h[i + 976] = (
            h[i + 24] * h[i + 392]
            + h[i + 56] * h[i + 360]
            + h[i + 88] * h[i + 328]
            + h[i + 120] * h[i + 296]
            + h[i + 152] * h[i + 264]
            + h[i + 184] * h[i + 232]
            + h[i + 216] * h[i + 200]
            + h[i + 248] * h[i + 168]
            + h[i + 280] * h[i + 136]
            + h[i + 312] * h[i + 104]
            + h[i + 344] * h[i + 72]
            + h[i + 376] * h[i + 40]
        )
        h[i + 992] = (
            h[i + 24] * h[i + 400]
            + h[i + 56] * h[i + 368]
            + h[i + 88] * h[i + 336]
            + h[i + 120] * h[i + 304]
            + h[i + 152] * h[i + 272]
            + h[i + 184] * h[i + 240]
            + h[i + 216] * h[i + 208]
            + h[i + 248] * h[i + 176]
            + h[i + 280] * h[i + 144]
            + h[i + 312] * h[i + 112]
            + h[i + 344] * h[i + 80]
            + h[i + 376] * h[i + 48]
        )
        cross = (
            h[i + 32] * h[i + 416]
            + h[i + 40] * h[i + 424]
            + h[i + 48] * h[i + 432]
            + h[i + 64] * h[i + 384]
            + h[i + 72] * h[i + 392]
            + h[i + 80] * h[i + 400]
            + h[i + 96] * h[i + 352]
            + h[i + 104] * h[i + 360]
            + h[i + 112] * h[i + 368]
            + h[i + 128] * h[i + 320]
            + h[i + 136] * h[i + 328]
            + h[i + 144] * h[i + 336]
            + h[i + 160] * h[i + 288]
            + h[i + 168] * h[i + 296]
            + h[i + 176] * h[i + 304]
            + h[i + 192] * h[i + 256]
            + h[i + 200] * h[i + 264]
            + h[i + 208] * h[i + 272]
        )
        square = (
            h[i + 224] * h[i + 224]
            + h[i + 232] * h[i + 232]
            + h[i + 240] * h[i + 240]
        )
        h[i + 1048] = 2.0 * cross + square


@kernel
def convolve_13(work, o):
    h = work[o : o + 1056]
    for i in range(8):
        h[i + 960] = (
            h[i + 24] * h[i + 416]
            + h[i + 56] * h[i + 384]
            + h[i + 88] * h[i + 352]
            + h[i + 120] * h[i + 320]
            + h[i + 152] * h[i + 288]
            + h[i + 184] * h[i + 256]
            + h[i + 216] * h[i + 224]
            + h[i + 248] * h[i + 192]
            + h[i + 280] * h[i + 160]
            + h[i + 312] * h[i + 128]
            + h[i + 344] * h[i + 96]
            + h[i + 376] * h[i + 64]
            + h[i + 408] * h[i + 32]
        )
        h[i + 976] = (
            h[i + 24] * h[i + 424]
            + h[i + 56] * h[i + 392]
            + h[i + 88] * h[i + 360]
            + h[i + 120] * h[i + 328]
            + h[i + 152] * h[i + 296]
            + h[i + 184] * h[i + 264]
            + h[i + 216] * h[i + 232]
            + h[i + 248] * h[i + 200]
            + h[i + 280] * h[i + 168]
            + h[i + 312] * h[i + 136]
            + h[i + 344] * h[i + 104]
            + h[i + 376] * h[i + 72]
            + h[i + 408] * h[i + 40]
        )
        h[i + 992] = (
            h[i + 24] * h[i + 432]
            + h[i + 56] * h[i + 400]
            + h[i + 88] * h[i + 368]
            + h[i + 120] * h[i + 336]
            + h[i + 152] * h[i + 304]
            + h[i + 184] * h[i + 272]
            + h[i + 216] * h[i + 240]
            + h[i + 248] * h[i + 208]
            + h[i + 280] * h[i + 176]
            + h[i + 312] * h[i + 144]
            + h[i + 344] * h[i + 112]
            + h[i + 376] * h[i + 80]
            + h[i + 408] * h[i + 48]
        )
        cross = (
            h[i + 32] * h[i + 448]
            + h[i + 40] * h[i + 456]
            + h[i + 48] * h[i + 464]
            + h[i + 64] * h[i + 416]
            + h[i + 72] * h[i + 424]
            + h[i + 80] * h[i + 432]
            + h[i + 96] * h[i + 384]
            + h[i + 104] * h[i + 392]
            + h[i + 112] * h[i + 400]
            + h[i + 128] * h[i + 352]
            + h[i + 136] * h[i + 360]
            + h[i + 144] * h[i + 368]
            + h[i + 160] * h[i + 320]
            + h[i + 168] * h[i + 328]
            + h[i + 176] * h[i + 336]
            + h[i + 192] * h[i + 288]
            + h[i + 200] * h[i + 296]
            + h[i + 208] * h[i + 304]
            + h[i + 224] * h[i + 256]
            + h[i + 232] * h[i + 264]
            + h[i + 240] * h[i + 272]
        )
        h[i + 1048] = 2.0 * cross


@kernel
def convolve_14(work, o):
    h = work[o : o + 1056]
    for i in range(8):
        h[i + 960] = (
            h[i + 24] * h[i + 448]
            + h[i + 56] * h[i + 416]
            + h[i + 88] * h[i + 384]
            + h[i + 120] * h[i + 352]
            + h[i + 152] * h[i + 320]
            + h[i + 184] * h[i + 288]
            + h[i + 216] * h[i + 256]
            + h[i + 248] * h[i + 224]
            + h[i + 280] * h[i + 192]
            + h[i + 312] * h[i + 160]
            + h[i + 344] * h[i + 128]
            + h[i + 376] * h[i + 96]
            + h[i + 408] * h[i + 64]
            + h[i + 440] * h[i + 32]
        )
        h[i + 976] = (
            h[i + 24] * h[i + 456]
            + h[i + 56] * h[i + 424]
            + h[i + 88] * h[i + 392]
            + h[i + 120] * h[i + 360]
            + h[i + 152] * h[i + 328]
            + h[i + 184] * h[i + 296]
            + h[i + 216] * h[i + 264]
            + h[i + 248] * h[i + 232]
            + h[i + 280] * h[i + 200]
            + h[i + 312] * h[i + 168]
            + h[i + 344] * h[i + 136]
            + h[i + 376] * h[i + 104]
            + h[i + 408] * h[i + 72]
            + h[i + 440] * h[i + 40]
        )
        h[i + 992] = (
            h[i + 24] * h[i + 464]
            + h[i + 56] * h[i + 432]
            + h[i + 88] * h[i + 400]
            + h[i + 120] * h[i + 368]
            + h[i + 152] * h[i + 336]
            + h[i + 184] * h[i + 304]
            + h[i + 216] * h[i + 272]
            + h[i + 248] * h[i + 240]
            + h[i + 280] * h[i + 208]
            + h[i + 312] * h[i + 176]
            + h[i + 344] * h[i + 144]
            + h[i + 376] * h[i + 112]
            + h[i + 408] * h[i + 80]
            + h[i + 440] * h[i + 48]
        )
        cross = (
            h[i + 32] * h[i + 480]
            + h[i + 40] * h[i + 488]
            + h[i + 48] * h[i + 496]
            + h[i + 64] * h[i + 448]
            + h[i + 72] * h[i + 456]
            + h[i + 80] * h[i + 464]
            + h[i + 96] * h[i + 416]
            + h[i + 104] * h[i + 424]
            + h[i + 112] * h[i + 432]
            + h[i + 128] * h[i + 384]
            + h[i + 136] * h[i + 392]
            + h[i + 144] * h[i + 400]
            + h[i + 160] * h[i + 352]
            + h[i + 168] * h[i + 360]
            + h[i + 176] * h[i + 368]
            + h[i + 192] * h[i + 320]
            + h[i + 200] * h[i + 328]
            + h[i + 208] * h[i + 336]
            + h[i + 224] * h[i + 288]
            + h[i + 232] * h[i + 296]
            + h[i + 240] * h[i + 304]
        )
        square = (
            h[i + 256] * h[i + 256]
            + h[i + 264] * h[i + 264]
            + h[i + 272] * h[i + 272]
        )
        h[i + 1048] = 2.0 * cross + square


@kernel
def convolve(k, work, o):
    """Fill the force and rate rows of the tile at offset o for order k >= 1."""
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


@kernel
def append_0(work, o, inverse, weight):
    h = work[o : o + 1120]
    for i in range(8):
        h[i + 592] = h[i + 1000] * inverse
        h[i + 64] = (h[i + 1001] - h[i + 1000]) * inverse * h[i + 1080]
        h[i + 1096] += weight * abs(h[i + 1000])
        h[i + 600] = h[i + 1016] * inverse
        h[i + 72] = (h[i + 1017] - h[i + 1016]) * inverse * h[i + 1080]
        h[i + 1104] += weight * abs(h[i + 1016])
        h[i + 608] = h[i + 1032] * inverse
        h[i + 80] = (h[i + 1033] - h[i + 1032]) * inverse * h[i + 1080]
        h[i + 1112] += weight * abs(h[i + 1032])
        h[i + 1056] = abs(h[i + 1000]) + abs(h[i + 1016]) + abs(h[i + 1032])


@kernel
def append_1(work, o, inverse, weight):
    h = work[o : o + 1120]
    for i in range(8):
        h[i + 616] = h[i + 1000] * inverse
        h[i + 96] = (h[i + 1001] - h[i + 1000]) * inverse * h[i + 1080]
        h[i + 1096] += weight * abs(h[i + 1000])
        h[i + 624] = h[i + 1016] * inverse
        h[i + 104] = (h[i + 1017] - h[i + 1016]) * inverse * h[i + 1080]
        h[i + 1104] += weight * abs(h[i + 1016])
        h[i + 632] = h[i + 1032] * inverse
        h[i + 112] = (h[i + 1033] - h[i + 1032]) * inverse * h[i + 1080]
        h[i + 1112] += weight * abs(h[i + 1032])
        h[i + 1056] = abs(h[i + 1000]) + abs(h[i + 1016]) + abs(h[i + 1032])


@kernel
def append_2(work, o, inverse, weight):
    h = work[o : o + 1120]
    for i in range(8):
        h[i + 640] = h[i + 1000] * inverse
        h[i + 128] = (h[i + 1001] - h[i + 1000]) * inverse * h[i + 1080]
        h[i + 1096] += weight * abs(h[i + 1000])
        h[i + 648] = h[i + 1016] * inverse
        h[i + 136] = (h[i + 1017] - h[i + 1016]) * inverse * h[i + 1080]
        h[i + 1104] += weight * abs(h[i + 1016])
        h[i + 656] = h[i + 1032] * inverse
        h[i + 144] = (h[i + 1033] - h[i + 1032]) * inverse * h[i + 1080]
        h[i + 1112] += weight * abs(h[i + 1032])
        h[i + 1056] = abs(h[i + 1000]) + abs(h[i + 1016]) + abs(h[i + 1032])


@kernel
def append_3(work, o, inverse, weight):
    h = work[o : o + 1120]
    for i in range(8):
        h[i + 664] = h[i + 1000] * inverse
        h[i + 160] = (h[i + 1001] - h[i + 1000]) * inverse * h[i + 1080]
        h[i + 1096] += weight * abs(h[i + 1000])
        h[i + 672] = h[i + 1016] * inverse
        h[i + 168] = (h[i + 1017] - h[i + 1016]) * inverse * h[i + 1080]
        h[i + 1104] += weight * abs(h[i + 1016])
        h[i + 680] = h[i + 1032] * inverse
        h[i + 176] = (h[i + 1033] - h[i + 1032]) * inverse * h[i + 1080]
        h[i + 1112] += weight * abs(h[i + 1032])
        h[i + 1056] = abs(h[i + 1000]) + abs(h[i + 1016]) + abs(h[i + 1032])


@kernel
def append_4(work, o, inverse, weight):
    h = work[o : o + 1120]
    for i in range(8):
        h[i + 688] = h[i + 1000] * inverse
        h[i + 192] = (h[i + 1001] - h[i + 1000]) * inverse * h[i + 1080]
        h[i + 1096] += weight * abs(h[i + 1000])
        h[i + 696] = h[i + 1016] * inverse
        h[i + 200] = (h[i + 1017] - h[i + 1016]) * inverse * h[i + 1080]
        h[i + 1104] += weight * abs(h[i + 1016])
        h[i + 704] = h[i + 1032] * inverse
        h[i + 208] = (h[i + 1033] - h[i + 1032]) * inverse * h[i + 1080]
        h[i + 1112] += weight * abs(h[i + 1032])
        h[i + 1056] = abs(h[i + 1000]) + abs(h[i + 1016]) + abs(h[i + 1032])


@kernel
def append_5(work, o, inverse, weight):
    h = work[o : o + 1120]
    for i in range(8):
        h[i + 712] = h[i + 1000] * inverse
        h[i + 224] = (h[i + 1001] - h[i + 1000]) * inverse * h[i + 1080]
        h[i + 1096] += weight * abs(h[i + 1000])
        h[i + 720] = h[i + 1016] * inverse
        h[i + 232] = (h[i + 1017] - h[i + 1016]) * inverse * h[i + 1080]
        h[i + 1104] += weight * abs(h[i + 1016])
        h[i + 728] = h[i + 1032] * inverse
        h[i + 240] = (h[i + 1033] - h[i + 1032]) * inverse * h[i + 1080]
        h[i + 1112] += weight * abs(h[i + 1032])
        h[i + 1056] = abs(h[i + 1000]) + abs(h[i + 1016]) + abs(h[i + 1032])


@kernel
def append_6(work, o, inverse, weight):
    h = work[o : o + 1120]
    for i in range(8):
        h[i + 736] = h[i + 1000] * inverse
        h[i + 256] = (h[i + 1001] - h[i + 1000]) * inverse * h[i + 1080]
        h[i + 1096] += weight * abs(h[i + 1000])
        h[i + 744] = h[i + 1016] * inverse
        h[i + 264] = (h[i + 1017] - h[i + 1016]) * inverse * h[i + 1080]
        h[i + 1104] += weight * abs(h[i + 1016])
        h[i + 752] = h[i + 1032] * inverse
        h[i + 272] = (h[i + 1033] - h[i + 1032]) * inverse * h[i + 1080]
        h[i + 1112] += weight * abs(h[i + 1032])
        h[i + 1056] = abs(h[i + 1000]) + abs(h[i + 1016]) + abs(h[i + 1032])


@kernel
def append_7(work, o, inverse, weight):
    h = work[o : o + 1120]
    for i in range(8):
        h[i + 760] = h[i + 1000] * inverse
        h[i + 288] = (h[i + 1001] - h[i + 1000]) * inverse * h[i + 1080]
        h[i + 1096] += weight * abs(h[i + 1000])
        h[i + 768] = h[i + 1016] * inverse
        h[i + 296] = (h[i + 1017] - h[i + 1016]) * inverse * h[i + 1080]
        h[i + 1104] += weight * abs(h[i + 1016])
        h[i + 776] = h[i + 1032] * inverse
        h[i + 304] = (h[i + 1033] - h[i + 1032]) * inverse * h[i + 1080]
        h[i + 1112] += weight * abs(h[i + 1032])
        h[i + 1056] = abs(h[i + 1000]) + abs(h[i + 1016]) + abs(h[i + 1032])


@kernel
def append_8(work, o, inverse, weight):
    h = work[o : o + 1120]
    for i in range(8):
        h[i + 784] = h[i + 1000] * inverse
        h[i + 320] = (h[i + 1001] - h[i + 1000]) * inverse * h[i + 1080]
        h[i + 1096] += weight * abs(h[i + 1000])
        h[i + 792] = h[i + 1016] * inverse
        h[i + 328] = (h[i + 1017] - h[i + 1016]) * inverse * h[i + 1080]
        h[i + 1104] += weight * abs(h[i + 1016])
        h[i + 800] = h[i + 1032] * inverse
        h[i + 336] = (h[i + 1033] - h[i + 1032]) * inverse * h[i + 1080]
        h[i + 1112] += weight * abs(h[i + 1032])
        h[i + 1056] = abs(h[i + 1000]) + abs(h[i + 1016]) + abs(h[i + 1032])


@kernel
def append_9(work, o, inverse, weight):
    h = work[o : o + 1120]
    for i in range(8):
        h[i + 808] = h[i + 1000] * inverse
        h[i + 352] = (h[i + 1001] - h[i + 1000]) * inverse * h[i + 1080]
        h[i + 1096] += weight * abs(h[i + 1000])
        h[i + 816] = h[i + 1016] * inverse
        h[i + 360] = (h[i + 1017] - h[i + 1016]) * inverse * h[i + 1080]
        h[i + 1104] += weight * abs(h[i + 1016])
        h[i + 824] = h[i + 1032] * inverse
        h[i + 368] = (h[i + 1033] - h[i + 1032]) * inverse * h[i + 1080]
        h[i + 1112] += weight * abs(h[i + 1032])
        h[i + 1056] = abs(h[i + 1000]) + abs(h[i + 1016]) + abs(h[i + 1032])


@kernel
def append_10(work, o, inverse, weight):
    h = work[o : o + 1120]
    for i in range(8):
        h[i + 832] = h[i + 1000] * inverse
        h[i + 384] = (h[i + 1001] - h[i + 1000]) * inverse * h[i + 1080]
        h[i + 1096] += weight * abs(h[i + 1000])
        h[i + 840] = h[i + 1016] * inverse
        h[i + 392] = (h[i + 1017] - h[i + 1016]) * inverse * h[i + 1080]
        h[i + 1104] += weight * abs(h[i + 1016])
        h[i + 848] = h[i + 1032] * inverse
        h[i + 400] = (h[i + 1033] - h[i + 1032]) * inverse * h[i + 1080]
        h[i + 1112] += weight * abs(h[i + 1032])
        h[i + 1056] = abs(h[i + 1000]) + abs(h[i + 1016]) + abs(h[i + 1032])


@kernel
def append_11(work, o, inverse, weight):
    h = work[o : o + 1120]
    for i in range(8):
        h[i + 856] = h[i + 1000] * inverse
        h[i + 416] = (h[i + 1001] - h[i + 1000]) * inverse * h[i + 1080]
        h[i + 1096] += weight * abs(h[i + 1000])
        h[i + 864] = h[i + 1016] * inverse
        h[i + 424] = (h[i + 1017] - h[i + 1016]) * inverse * h[i + 1080]
        h[i + 1104] += weight * abs(h[i + 1016])
        h[i + 872] = h[i + 1032] * inverse
        h[i + 432] = (h[i + 1033] - h[i + 1032]) * inverse * h[i + 1080]
        h[i + 1112] += weight * abs(h[i + 1032])
        h[i + 1056] = abs(h[i + 1000]) + abs(h[i + 1016]) + abs(h[i + 1032])


@kernel
def append_12(work, o, inverse, weight):
    h = work[o : o + 1120]
    for i in range(8):
        h[i + 880] = h[i + 1000] * inverse
        h[i + 448] = (h[i + 1001] - h[i + 1000]) * inverse * h[i + 1080]
        h[i + 1096] += weight * abs(h[i + 1000])
        h[i + 888] = h[i + 1016] * inverse
        h[i + 456] = (h[i + 1017] - h[i + 1016]) * inverse * h[i + 1080]
        h[i + 1104] += weight * abs(h[i + 1016])
        h[i + 896] = h[i + 1032] * inverse
        h[i + 464] = (h[i + 1033] - h[i + 1032]) * inverse * h[i + 1080]
        h[i + 1112] += weight * abs(h[i + 1032])
        h[i + 1056] = abs(h[i + 1000]) + abs(h[i + 1016]) + abs(h[i + 1032])


@kernel
def append_13(work, o, inverse, weight):
    h = work[o : o + 1120]
    for i in range(8):
        h[i + 904] = h[i + 1000] * inverse
        h[i + 480] = (h[i + 1001] - h[i + 1000]) * inverse * h[i + 1080]
        h[i + 1096] += weight * abs(h[i + 1000])
        h[i + 912] = h[i + 1016] * inverse
        h[i + 488] = (h[i + 1017] - h[i + 1016]) * inverse * h[i + 1080]
        h[i + 1104] += weight * abs(h[i + 1016])
        h[i + 920] = h[i + 1032] * inverse
        h[i + 496] = (h[i + 1033] - h[i + 1032]) * inverse * h[i + 1080]
        h[i + 1112] += weight * abs(h[i + 1032])
        h[i + 1056] = abs(h[i + 1000]) + abs(h[i + 1016]) + abs(h[i + 1032])


@kernel
def append_14(work, o, inverse, weight):
    h = work[o : o + 1120]
    for i in range(8):
        h[i + 928] = h[i + 1000] * inverse
        h[i + 512] = (h[i + 1001] - h[i + 1000]) * inverse * h[i + 1080]
        h[i + 1096] += weight * abs(h[i + 1000])
        h[i + 936] = h[i + 1016] * inverse
        h[i + 520] = (h[i + 1017] - h[i + 1016]) * inverse * h[i + 1080]
        h[i + 1104] += weight * abs(h[i + 1016])
        h[i + 944] = h[i + 1032] * inverse
        h[i + 528] = (h[i + 1033] - h[i + 1032]) * inverse * h[i + 1080]
        h[i + 1112] += weight * abs(h[i + 1032])
        h[i + 1056] = abs(h[i + 1000]) + abs(h[i + 1016]) + abs(h[i + 1032])


@kernel
def append(k, work, o, inverse, weight):
    """Store the coefficients of order k + 2; the RHS row gets the accelerations' sizes."""
    if k == 0:
        append_0(work, o, inverse, weight)
    elif k == 1:
        append_1(work, o, inverse, weight)
    elif k == 2:
        append_2(work, o, inverse, weight)
    elif k == 3:
        append_3(work, o, inverse, weight)
    elif k == 4:
        append_4(work, o, inverse, weight)
    elif k == 5:
        append_5(work, o, inverse, weight)
    elif k == 6:
        append_6(work, o, inverse, weight)
    elif k == 7:
        append_7(work, o, inverse, weight)
    elif k == 8:
        append_8(work, o, inverse, weight)
    elif k == 9:
        append_9(work, o, inverse, weight)
    elif k == 10:
        append_10(work, o, inverse, weight)
    elif k == 11:
        append_11(work, o, inverse, weight)
    elif k == 12:
        append_12(work, o, inverse, weight)
    elif k == 13:
        append_13(work, o, inverse, weight)
    elif k == 14:
        append_14(work, o, inverse, weight)
