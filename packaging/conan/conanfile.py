"""The Conan 2 recipe: conan create packaging/conan"""

import re
from pathlib import Path

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load

ROOT = Path(__file__).resolve().parent.parent.parent
SOURCES = ["CMakeLists.txt", "LICENSE", "cmake/*", "include/*", "src/*"]


class ShoalConan(ConanFile):
    """libshoal from this tree, with Conan's libuv and hiredis."""

    name = "shoal"
    license = "MIT"
    description = "Redis and Valkey client with implicit pipelining"
    topics = ("redis", "valkey", "pipelining", "client")
    package_type = "library"
    settings = "os", "compiler", "build_type", "arch"
    options = {"shared": [True, False]}
    default_options = {"shared": False}

    def set_version(self):
        """One place decides: the public header."""
        header = load(self, str(ROOT / "include/shoal/version.h"))
        self.version = re.search(r'SHOAL_VERSION_STRING "([^"]+)"', header).group(1)

    def export_sources(self):
        """The tree above the recipe, without tests and benches."""
        for pattern in SOURCES:
            copy(self, pattern, str(ROOT), self.export_sources_folder)

    def configure(self):
        """A library in C."""
        self.settings.rm_safe("compiler.cppstd")
        self.settings.rm_safe("compiler.libcxx")

    def validate(self):
        """Tested where README's table says so."""
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration("shoal is for Linux")

    def layout(self):
        """Out of the tree."""
        cmake_layout(self)

    def requirements(self):
        """<shoal/uv.h> includes <uv.h>; hiredis is our own affair."""
        self.requires("libuv/[>=1.44 <2]", transitive_headers=True)
        self.requires("hiredis/[>=1.1 <2]")

    def generate(self):
        """find_path() and find_library() look where the toolchain says."""
        CMakeToolchain(self).generate()

    def build(self):
        """The library alone; BUILD_SHARED_LIBS follows the option."""
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        """What CMake installs, and the licence."""
        copy(
            self, "LICENSE", self.source_folder, str(Path(self.package_folder, "licenses"))
        )
        CMake(self).install()

    def package_info(self):
        """The names that shoal's own CMake package has."""
        self.cpp_info.libs = ["shoal"]
        self.cpp_info.set_property("cmake_file_name", "shoal")
        self.cpp_info.set_property("cmake_target_name", "shoal::shoal")
        self.cpp_info.set_property("pkg_config_name", "shoal")
        self.cpp_info.system_libs = ["pthread"]
