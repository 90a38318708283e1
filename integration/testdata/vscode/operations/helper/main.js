// The same extension on two hosts: each makes edits of files, and takes part in those of both.
exports.activate = require('../operations.js').activate('helper')
