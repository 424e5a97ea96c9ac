module cepheid/tests/cluster/versions/pause

go 1.24.0
