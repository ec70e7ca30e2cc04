module github.com/streamconform/streamconform/harness/judges/go

go 1.19

require gopkg.in/yaml.v3 v3.0.1
