"""`conform dev finding`: one file per finding, ready for the library's issue tracker."""
