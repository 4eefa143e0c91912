# `cmake --install` and packages: the program, its man page, completions, licence and examples.
# A .deb uses Debian's libraries; the archive brings those along that distributions do not share
# (SNUG_BUNDLE in the environment, see scripts/package).
include(GNUInstallDirs)

set(SNUG_PRIVATE_LIBRARIES ${CMAKE_INSTALL_LIBDIR}/snug)
# The same path before installation: CMake would fill one up with empty entries, which name the
# current folder, and libraries would be loaded from wherever the program is started.
set_target_properties(snug PROPERTIES INSTALL_RPATH "$ORIGIN/../${SNUG_PRIVATE_LIBRARIES}"
                                      BUILD_WITH_INSTALL_RPATH ON)
install(TARGETS snug RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})

# From the help texts, which the program has.
set(generated ${CMAKE_BINARY_DIR}/snug.1 ${CMAKE_BINARY_DIR}/snug.bash ${CMAKE_BINARY_DIR}/snug.zsh
              ${CMAKE_BINARY_DIR}/snug.fish)
add_custom_command(OUTPUT ${generated}
                   COMMAND snug --man > snug.1 COMMAND snug completion bash > snug.bash
                   COMMAND snug completion zsh > snug.zsh COMMAND snug completion fish > snug.fish
                   WORKING_DIRECTORY ${CMAKE_BINARY_DIR} DEPENDS snug VERBATIM)
add_custom_target(snug_generated ALL DEPENDS ${generated})
install(FILES ${CMAKE_BINARY_DIR}/snug.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${CMAKE_BINARY_DIR}/snug.bash
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME snug)
install(FILES ${CMAKE_BINARY_DIR}/snug.fish
        DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
# zsh reads site-functions below /usr/local; Debian's reads vendor-completions below /usr.
install(CODE "
  set(folder site-functions)
  if(CMAKE_INSTALL_PREFIX STREQUAL \"/usr\")
    set(folder vendor-completions)
  endif()
  file(INSTALL DESTINATION \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/zsh/\${folder}\"
       TYPE FILE RENAME _snug FILES \"${CMAKE_BINARY_DIR}/snug.zsh\")
")
install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY config DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)

# Not libc, libm, libgcc_s and libstdc++: they belong to the system, and Debian 12's libstdc++ asks
# for a glibc that Ubuntu 22.04 does not have.
install(CODE "
  if(DEFINED ENV{SNUG_BUNDLE})
    file(GET_RUNTIME_DEPENDENCIES EXECUTABLES \"$<TARGET_FILE:snug>\"
         RESOLVED_DEPENDENCIES_VAR libraries
         PRE_EXCLUDE_REGEXES ld-linux POST_EXCLUDE_REGEXES
           \"/lib(c|m|gcc_s|stdc\\\\+\\\\+|pthread|dl|rt)[.]so\")
    file(INSTALL DESTINATION \"\${CMAKE_INSTALL_PREFIX}/${SNUG_PRIVATE_LIBRARIES}\"
         TYPE SHARED_LIBRARY FOLLOW_SYMLINK_CHAIN FILES \${libraries})
    # They find each other, wherever the archive is unpacked.
    foreach(library IN LISTS libraries)
      get_filename_component(name \"\${library}\" NAME)
      execute_process(COMMAND patchelf --set-rpath \"\\$ORIGIN\"
                      \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${SNUG_PRIVATE_LIBRARIES}/\${name}\"
                      COMMAND_ERROR_IS_FATAL ANY)
    endforeach()
  endif()
")

set(CPACK_GENERATOR DEB TGZ)
set(CPACK_PACKAGE_NAME snug)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "The Snug authors <snug@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "GPT training that fits the memory you have")
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGE_FILE_NAME snug-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "curl | wget")  # `snug prepare shakespeare_char` fetches its text
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
include(CPack)
