"""The .qpack container: layout, opening and checking, dense weights, repack, verify, install."""
