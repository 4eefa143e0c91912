#include "cli/cli.h"

int main(int argc, char** argv) { return snug::run_cli(argc, argv); }
