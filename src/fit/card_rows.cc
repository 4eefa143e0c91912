// The cards, one row each. Rates are derived from multiprocessors and clocks, not copied.
#include <algorithm>
#include <array>

#include "fit/cards.h"

namespace snug::fit {
namespace {

struct Row {
  std::string_view key, name;
  std::int64_t memory_gib, reported_mib;
  int multiprocessors, boost_mhz;
  int tensor_flops;  // per multiprocessor and clock: fp16 with fp32 sums, dense; 0: no tensor cores
  int fp32_lanes;    // per multiprocessor
  double bandwidth_gbs;
  int watts;
  int capability;
  // By the data sheet, where it is less than the clock gives: tensor cores then run at a lower one.
  double sheet_tensor_tflops = 0;
};

// Multiprocessors, boost clock, power and bandwidth: NVIDIA's data sheets and architecture white
// papers, of the reference card (Founders Edition where the table says so). Tensor operations per
// multiprocessor and clock: the white papers of Volta (1024), Turing and GA102/AD102/GB202 (1024 on
// cards for work, half of it with fp32 sums on GeForce, L40 and A10G), GA100 (2048), GH100 (4096).
// B200: clock and rate as published for HGX, per multiprocessor twice GH100's.
// Reported memory: the least published for the card by name under Linux, in out-of-memory messages
// or by llama.cpp ("VRAM: 11906 MiB"); of GiB with two decimals the lower end. New drivers keep
// 0.13 GiB more than old ones; Windows and WSL report what is sold. "~": not found, so that of a
// sibling with the same memory, or an old driver's less 0.13 GiB. Data-centre cards with GDDR have
// ECC on, workstation cards off: with it RTX 6000 Ada reports 45,490.
// clang-format off
constexpr Row kDesktopRows[] = {
    //key                     name                                    GiB  rep.MiB SMs   MHz  tens fp32   GB/s     W   cc
    // Pascal and Volta
    {"gtx1050",               "GeForce GTX 1050",                       2,   1950,   5, 1455,    0, 128,  112.1,   75,  61},  // ~
    {"gtx1050ti",             "GeForce GTX 1050 Ti",                    4,   4030,   6, 1392,    0, 128,  112.1,   75,  61},  // ~
    {"gtx1060-3gb",           "GeForce GTX 1060 3GB",                   3,   3010,   9, 1708,    0, 128,  192.2,  120,  61},  // ~
    {"gtx1060",               "GeForce GTX 1060 6GB",                   6,   6063,  10, 1708,    0, 128,  192.2,  120,  61},
    {"gtx1070",               "GeForce GTX 1070",                       8,   8104,  15, 1683,    0, 128,  256.3,  150,  61},
    {"gtx1070ti",             "GeForce GTX 1070 Ti",                    8,   8104,  19, 1683,    0, 128,  256.3,  180,  61},  // ~
    {"gtx1080",               "GeForce GTX 1080",                       8,   8098,  20, 1733,    0, 128,  320.3,  180,  61},
    {"gtx1080ti",             "GeForce GTX 1080 Ti",                   11,  11156,  28, 1582,    0, 128,  484.4,  250,  61},
    {"titanxpascal",          "TITAN X (Pascal)",                      12,  12180,  28, 1531,    0, 128,  480.4,  250,  61},
    {"titanxp",               "TITAN Xp",                              12,  12180,  30, 1582,    0, 128,  547.6,  250,  61},  // ~
    {"titanv",                "TITAN V",                               12,  12057,  80, 1455, 1024,  64,  652.8,  250,  70},
    // Turing; RTX 2070, 2080 and 2080 Ti as Founders Editions
    {"gtx1650",               "GeForce GTX 1650",                       4,   3712,  14, 1665,    0,  64,  128.1,   75,  75},
    {"gtx1650super",          "GeForce GTX 1650 SUPER",                 4,   3712,  20, 1725,    0,  64,  192.0,  100,  75},  // ~
    {"gtx1660",               "GeForce GTX 1660",                       6,   5749,  22, 1785,    0,  64,  192.1,  120,  75},
    {"gtx1660super",          "GeForce GTX 1660 SUPER",                 6,   5747,  22, 1785,    0,  64,  336.0,  125,  75},  // ~
    {"gtx1660ti",             "GeForce GTX 1660 Ti",                    6,   5747,  24, 1770,    0,  64,  288.0,  120,  75},
    {"rtx2060",               "GeForce RTX 2060",                       6,   5739,  30, 1680,  512,  64,  336.0,  160,  75},
    {"rtx2060super",          "GeForce RTX 2060 SUPER",                 8,   7770,  34, 1650,  512,  64,  448.0,  175,  75},  // ~
    {"rtx2060-12gb",          "GeForce RTX 2060 12GB",                 12,  11833,  34, 1650,  512,  64,  336.0,  185,  75},
    {"rtx2070",               "GeForce RTX 2070",                       8,   7770,  36, 1710,  512,  64,  448.0,  185,  75},  // ~
    {"rtx2070super",          "GeForce RTX 2070 SUPER",                 8,   7770,  40, 1770,  512,  64,  448.0,  215,  75},  // ~
    {"rtx2080",               "GeForce RTX 2080",                       8,   7770,  46, 1800,  512,  64,  448.0,  225,  75},  // ~
    {"rtx2080super",          "GeForce RTX 2080 SUPER",                 8,   7770,  48, 1815,  512,  64,  495.9,  250,  75},  // ~
    {"rtx2080ti",             "GeForce RTX 2080 Ti",                   11,  10818,  68, 1635,  512,  64,  616.0,  260,  75},
    {"titanrtx",              "TITAN RTX",                             24,  24020,  72, 1770, 1024,  64,  672.0,  280,  75},  // ~
    // Ampere
    {"rtx3050-6gb",           "GeForce RTX 3050 6GB",                   6,   5803,  18, 1470,  512, 128,  168.0,   70,  86},
    {"rtx3050",               "GeForce RTX 3050",                       8,   7819,  20, 1777,  512, 128,  224.0,  130,  86},  // ~
    {"rtx3060-8gb",           "GeForce RTX 3060 8GB",                   8,   7819,  28, 1777,  512, 128,  240.0,  170,  86},  // ~
    {"rtx3060",               "GeForce RTX 3060",                      12,  11906,  28, 1777,  512, 128,  360.0,  170,  86},
    {"rtx3060ti",             "GeForce RTX 3060 Ti",                    8,   7819,  38, 1665,  512, 128,  448.0,  200,  86},  // ~
    {"rtx3070",               "GeForce RTX 3070",                       8,   7819,  46, 1725,  512, 128,  448.0,  220,  86},
    {"rtx3070ti",             "GeForce RTX 3070 Ti",                    8,   7840,  48, 1770,  512, 128,  608.3,  290,  86},
    {"rtx3080",               "GeForce RTX 3080",                      10,   9845,  68, 1710,  512, 128,  760.3,  320,  86},
    {"rtx3080-12gb",          "GeForce RTX 3080 12GB",                 12,  11900,  70, 1710,  512, 128,  912.4,  350,  86},  // ~
    {"rtx3080ti",             "GeForce RTX 3080 Ti",                   12,  11900,  80, 1665,  512, 128,  912.4,  350,  86},  // ~
    {"rtx3090",               "GeForce RTX 3090",                      24,  24121,  82, 1695,  512, 128,  936.2,  350,  86},
    {"rtx3090ti",             "GeForce RTX 3090 Ti",                   24,  24112,  84, 1860,  512, 128,   1008,  450,  86},
    // Ada
    {"rtx4060",               "GeForce RTX 4060",                       8,   7828,  24, 2460,  512, 128,  272.0,  115,  89},
    {"rtx4060ti",             "GeForce RTX 4060 Ti",                    8,   7828,  34, 2535,  512, 128,  288.0,  160,  89},  // ~
    {"rtx4060ti-16gb",        "GeForce RTX 4060 Ti 16GB",              16,  15938,  34, 2535,  512, 128,  288.0,  165,  89},
    {"rtx4070",               "GeForce RTX 4070",                      12,  11866,  46, 2475,  512, 128,  504.2,  200,  89},
    {"rtx4070super",          "GeForce RTX 4070 SUPER",                12,  11866,  56, 2475,  512, 128,  504.2,  220,  89},  // ~
    {"rtx4070ti",             "GeForce RTX 4070 Ti",                   12,  11866,  60, 2610,  512, 128,  504.2,  285,  89},  // ~
    {"rtx4070tisuper",        "GeForce RTX 4070 Ti SUPER",             16,  15937,  66, 2610,  512, 128,  672.3,  285,  89},  // ~
    {"rtx4080",               "GeForce RTX 4080",                      16,  15937,  76, 2505,  512, 128,  716.8,  320,  89},  // ~
    {"rtx4080super",          "GeForce RTX 4080 SUPER",                16,  15937,  80, 2550,  512, 128,  736.3,  320,  89},
    {"rtx4090d",              "GeForce RTX 4090 D",                    24,  24073, 114, 2520,  512, 128,   1008,  425,  89},  // ~
    {"rtx4090",               "GeForce RTX 4090",                      24,  24073, 128, 2520,  512, 128,   1008,  450,  89},
    // Blackwell
    {"rtx5050",               "GeForce RTX 5050",                       8,   7695,  20, 2572,  512, 128,  320.0,  130, 120},  // ~
    {"rtx5060",               "GeForce RTX 5060",                       8,   7695,  30, 2497,  512, 128,  448.0,  145, 120},
    {"rtx5060ti",             "GeForce RTX 5060 Ti",                    8,   7695,  36, 2572,  512, 128,  448.0,  180, 120},  // ~
    {"rtx5060ti-16gb",        "GeForce RTX 5060 Ti 16GB",              16,  15825,  36, 2572,  512, 128,  448.0,  180, 120},
    {"rtx5070",               "GeForce RTX 5070",                      12,  11760,  48, 2512,  512, 128,  672.0,  250, 120},
    {"rtx5070ti",             "GeForce RTX 5070 Ti",                   16,  15808,  70, 2452,  512, 128,  896.0,  300, 120},
    {"rtx5080",               "GeForce RTX 5080",                      16,  15880,  84, 2617,  512, 128,  960.0,  360, 120},
    {"rtx5090d",              "GeForce RTX 5090 D",                    32,  32109, 170, 2407,  512, 128,   1792,  575, 120},  // ~
    {"rtx5090",               "GeForce RTX 5090",                      32,  32109, 170, 2407,  512, 128,   1792,  575, 120},
    // Laptops: at the highest boost clock and power that NVIDIA allows; a maker may allow less
    {"gtx1650-laptop",        "GeForce GTX 1650 Laptop GPU",            4,   3712,  14, 1560,    0,  64,  128.1,   50,  75},  // ~
    {"gtx1660ti-laptop",      "GeForce GTX 1660 Ti Laptop GPU",         6,   5747,  24, 1590,    0,  64,  288.0,   80,  75},  // ~
    {"rtx2060-laptop",        "GeForce RTX 2060 Laptop GPU",            6,   5739,  30, 1560,  512,  64,  336.0,  115,  75},  // ~
    {"rtx2070-laptop",        "GeForce RTX 2070 Laptop GPU",            8,   7770,  36, 1440,  512,  64,  448.0,  115,  75},  // ~
    {"rtx2080-laptop",        "GeForce RTX 2080 Laptop GPU",            8,   7770,  46, 1590,  512,  64,  448.0,  150,  75},  // ~
    {"rtx3050-laptop",        "GeForce RTX 3050 Laptop GPU",            4,   3770,  16, 1740,  512, 128,  192.0,   80,  86},  // ~
    {"rtx3050-6gb-laptop",    "GeForce RTX 3050 6GB Laptop GPU",        6,   5803,  20, 1492,  512, 128,  168.0,   80,  86},  // ~
    {"rtx3050ti-laptop",      "GeForce RTX 3050 Ti Laptop GPU",         4,   3770,  20, 1695,  512, 128,  192.0,   80,  86},  // ~
    {"rtx3060-laptop",        "GeForce RTX 3060 Laptop GPU",            6,   5803,  30, 1703,  512, 128,  336.0,  115,  86},  // ~
    {"rtx3070-laptop",        "GeForce RTX 3070 Laptop GPU",            8,   7819,  40, 1620,  512, 128,  448.0,  125,  86},  // ~
    {"rtx3070ti-laptop",      "GeForce RTX 3070 Ti Laptop GPU",         8,   7819,  46, 1485,  512, 128,  448.0,  125,  86},  // ~
    {"rtx3080-laptop",        "GeForce RTX 3080 Laptop GPU",            8,   7819,  48, 1710,  512, 128,  448.0,  150,  86},  // ~
    {"rtx3080-16gb-laptop",   "GeForce RTX 3080 16GB Laptop GPU",      16,  15850,  48, 1710,  512, 128,  448.0,  150,  86},  // ~
    {"rtx3080ti-laptop",      "GeForce RTX 3080 Ti Laptop GPU",        16,  15850,  58, 1590,  512, 128,  512.0,  150,  86},  // ~
    {"rtx4050-laptop",        "GeForce RTX 4050 Laptop GPU",            6,   5803,  20, 2370,  512, 128,  192.0,  115,  89},  // ~
    {"rtx4060-laptop",        "GeForce RTX 4060 Laptop GPU",            8,   7805,  24, 2370,  512, 128,  256.0,  115,  89},  // ~
    {"rtx4070-laptop",        "GeForce RTX 4070 Laptop GPU",            8,   7805,  36, 2175,  512, 128,  256.0,  115,  89},  // ~
    {"rtx4080-laptop",        "GeForce RTX 4080 Laptop GPU",           12,  11866,  58, 2280,  512, 128,  432.0,  150,  89},  // ~
    {"rtx4090-laptop",        "GeForce RTX 4090 Laptop GPU",           16,  15937,  76, 2040,  512, 128,  576.0,  150,  89},  // ~
    {"rtx5050-laptop",        "GeForce RTX 5050 Laptop GPU",            8,   7695,  20, 2662,  512, 128,  384.0,  100, 120},  // ~
    {"rtx5060-laptop",        "GeForce RTX 5060 Laptop GPU",            8,   7695,  26, 2497,  512, 128,  384.0,  100, 120},  // ~
    {"rtx5070-laptop",        "GeForce RTX 5070 Laptop GPU",            8,   7695,  36, 2347,  512, 128,  384.0,  100, 120},  // ~
    {"rtx5070ti-laptop",      "GeForce RTX 5070 Ti Laptop GPU",        12,  11760,  46, 2220,  512, 128,  672.0,  115, 120},  // ~
    {"rtx5080-laptop",        "GeForce RTX 5080 Laptop GPU",           16,  15808,  60, 2287,  512, 128,  896.0,  150, 120},  // ~
    {"rtx5090-laptop",        "GeForce RTX 5090 Laptop GPU",           24,  23950,  82, 2160,  512, 128,  896.0,  150, 120},  // ~
    // Workstations
    {"rtx4000",               "Quadro RTX 4000",                        8,   7770,  36, 1545, 1024,  64,  416.0,  125,  75},  // ~
    {"rtx5000",               "Quadro RTX 5000",                       16,  15890,  48, 1815, 1024,  64,  448.0,  230,  75},  // ~
    {"rtx6000",               "Quadro RTX 6000",                       24,  24020,  72, 1770, 1024,  64,  672.0,  260,  75},  // ~
    {"rtx8000",               "Quadro RTX 8000",                       48,  48400,  72, 1770, 1024,  64,  672.0,  260,  75},  // ~
    {"rtxa2000",              "RTX A2000",                              6,   5800,  26, 1200, 1024, 128,  288.0,   70,  86},  // ~
    {"rtxa2000-12gb",         "RTX A2000 12GB",                        12,  11900,  26, 1200, 1024, 128,  288.0,   70,  86},  // ~
    {"rtxa4000",              "RTX A4000",                             16,  15979,  48, 1560, 1024, 128,  448.0,  140,  86},
    {"rtxa4500",              "RTX A4500",                             20,  20040,  56, 1650, 1024, 128,  640.0,  200,  86},  // ~
    {"rtxa5000",              "RTX A5000",                             24,  24110,  64, 1695, 1024, 128,  768.0,  230,  86},  // ~
    {"rtxa5500",              "RTX A5500",                             24,  24110,  80, 1665, 1024, 128,  768.0,  230,  86},  // ~
    {"rtxa6000",              "RTX A6000",                             48,  48540,  84, 1800, 1024, 128,  768.0,  300,  86},  // ~
    {"rtx2000ada",            "RTX 2000 Ada Generation",               16,  15930,  22, 2130, 1024, 128,  224.0,   70,  89},  // ~
    {"rtx4000sffada",         "RTX 4000 SFF Ada Generation",           20,  20040,  48, 1560, 1024, 128,  280.0,   70,  89},  // ~
    {"rtx4000ada",            "RTX 4000 Ada Generation",               20,  20040,  48, 2175, 1024, 128,  360.0,  130,  89},  // ~
    {"rtx4500ada",            "RTX 4500 Ada Generation",               24,  24050,  60, 2580, 1024, 128,  432.0,  210,  89},  // ~
    {"rtx5000ada",            "RTX 5000 Ada Generation",               32,  32200, 100, 2550, 1024, 128,  576.0,  250,  89},  // ~
    {"rtx6000ada",            "RTX 6000 Ada Generation",               48,  48500, 142, 2505, 1024, 128,  960.0,  300,  89},  // ~
    {"rtxpro4000",            "RTX PRO 4000 Blackwell",                24,  23950,  70, 2617, 1024, 128,  672.0,  140, 120},  // ~
    {"rtxpro4500",            "RTX PRO 4500 Blackwell",                32,  32000,  82, 2617, 1024, 128,  896.0,  200, 120},  // ~
    {"rtxpro5000",            "RTX PRO 5000 Blackwell",                48,  48300, 110, 2617, 1024, 128,   1344,  300, 120},  // ~
    {"rtxpro6000",            "RTX PRO 6000 Blackwell",                96,  97247, 188, 2617, 1024, 128,   1792,  600, 120},
};
// K80, A16: one of its GPUs. V100, A100, H200: the SXM boards. A10G: what AWS has for an A10.
constexpr Row kServerRows[] = {
    {"k80",                   "Tesla K80",                             12,  11432,  13,  875,    0, 192,  240.6,  150,  37},
    {"m40",                   "Tesla M40",                             12,  11440,  24, 1112,    0, 128,  288.4,  250,  52},  // ~
    {"m40-24gb",              "Tesla M40 24GB",                        24,  22910,  24, 1112,    0, 128,  288.4,  250,  52},  // ~
    {"p4",                    "Tesla P4",                               8,   7600,  20, 1113,    0, 128,  192.3,   75,  61},  // ~
    {"p40",                   "Tesla P40",                             24,  22912,  30, 1531,    0, 128,  346.0,  250,  61},  // ~
    {"p100-12gb",             "Tesla P100 12GB",                       12,  12190,  56, 1303,    0,  64,  549.1,  250,  60},  // ~
    {"p100",                  "Tesla P100",                            16,  16266,  56, 1303,    0,  64,  732.2,  250,  60},
    {"v100-16gb",             "Tesla V100 16GB",                       16,  16153,  80, 1530, 1024,  64,  900.0,  300,  70},
    {"v100-32gb",             "Tesla V100 32GB",                       32,  32494,  80, 1530, 1024,  64,  900.0,  300,  70},
    {"t4",                    "Tesla T4",                              16,  14912,  40, 1590, 1024,  64,  320.0,   70,  75},
    {"a2",                    "A2",                                    16,  14900,  10, 1770, 1024, 128,  200.0,   60,  86},  // ~
    {"a10",                   "A10",                                   24,  22584,  72, 1695, 1024, 128,  600.2,  150,  86},  // ~
    {"a10g",                  "A10G",                                  24,  22584,  80, 1710,  512, 128,  600.2,  300,  86},
    {"a16",                   "A16",                                   16,  14900,  10, 1755, 1024, 128,  200.0,   62,  86},  // ~
    {"a30",                   "A30",                                   24,  24089,  56, 1440, 2048,  64,  933.1,  165,  80},
    {"a40",                   "A40",                                   48,  45480,  84, 1740, 1024, 128,  695.8,  300,  86},
    {"a100-40gb",             "A100 40GB",                             40,  40320, 108, 1410, 2048,  64,   1555,  400,  80},
    {"a100-80gb",             "A100 80GB",                             80,  81034, 108, 1410, 2048,  64,   2039,  400,  80},
    {"l4",                    "L4",                                    24,  22553,  58, 2040, 1024, 128,  300.1,   72,  89},
    {"l40",                   "L40",                                   48,  45460, 142, 2490,  512, 128,  864.0,  300,  89},
    {"l40s",                  "L40S",                                  48,  45450, 142, 2520, 1024, 128,  864.0,  350,  89},
    {"h20",                   "H20",                                   96,  97200,  78, 1980, 4096, 128,   4000,  400,  90, 148},  // ~
    {"h100-pcie",             "H100 PCIe",                             80,  80993, 114, 1755, 4096, 128,   2039,  350,  90, 756},
    {"h100-sxm",              "H100 SXM",                              80,  80993, 132, 1980, 4096, 128,   3352,  700,  90, 989.4},
    {"h100-nvl",              "H100 NVL",                              94,  95300, 132, 1785, 4096, 128,   3938,  400,  90, 835},  // ~
    {"gh200",                 "GH200 96GB",                            96,  97200, 132, 1980, 4096, 128,   4000,  700,  90, 989.4},  // ~
    {"h200",                  "H200",                                 141, 143068, 132, 1980, 4096, 128,   4800,  700,  90, 989.4},
    {"b200",                  "B200",                                 180, 182600, 148, 1965, 8192, 128,   7700, 1000, 100, 2250},  // ~
};
// clang-format on

// A board holds its boost clock on tensor cores only as far as its power goes: NVIDIA's T4 falls to
// about 60% of it (arXiv 1903.07486 describes the throttling). The limit is what the generation's
// largest board for work does per watt (TITAN RTX, RTX A6000, RTX 6000 Ada), and 30% on top for
// the better efficiency of lower clocks. It binds on T4, A10 and L4 only; 0: none.
constexpr double tensor_tflops_per_watt(const Row& row) {
  if (row.tensor_flops != 1024) return 0;
  if (row.capability == 75) return 1.3 * 130.5 / 280;
  if (row.capability == 86) return 1.3 * 154.8 / 300;
  if (row.capability == 89) return 1.3 * 364.2 / 300;
  return 0;
}

constexpr double tensor_tflops(const Row& row) {
  double tera = 1e-6 * row.multiprocessors * row.boost_mhz * row.tensor_flops;
  if (row.sheet_tensor_tflops > 0) tera = std::min(tera, row.sheet_tensor_tflops);
  const double limit = tensor_tflops_per_watt(row) * row.watts;
  return limit > 0 ? std::min(tera, limit) : tera;
}

constexpr Card card_of(const Row& row, bool desktop) {
  const double fp32 = 2e-6 * row.multiprocessors * row.boost_mhz * row.fp32_lanes;
  const double fp16 = row.tensor_flops > 0 ? tensor_tflops(row) : fp32;
  const double bf16 = row.capability < 80 ? 0 : fp16;
  return {row.key, row.name, row.memory_gib * 1024, row.reported_mib, bf16,
          fp16,    fp32,     row.bandwidth_gbs,     row.capability,   desktop};
}

constexpr auto kCards = [] {
  std::array<Card, std::size(kDesktopRows) + std::size(kServerRows)> cards{};
  std::size_t count = 0;
  for (const Row& row : kDesktopRows) cards[count++] = card_of(row, true);
  for (const Row& row : kServerRows) cards[count++] = card_of(row, false);
  return cards;
}();

}  // namespace

std::span<const Card> all_cards() { return kCards; }

}  // namespace snug::fit
