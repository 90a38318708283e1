package shim

const (
	// RecordVersion is the version of the files of records.
	RecordVersion = 1
	// RecordFile is the name of the file of a [Record], in the folder of a shim.
	RecordFile = "record.json"
)
