# nm's symbols of the checked kernels, each with its name in the plain kernels' namespace.
/12cuda_checked/ {
  plain = $NF
  gsub(/12cuda_checked/, "4cuda", plain)
  print $NF, plain
}
