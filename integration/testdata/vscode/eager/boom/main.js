'use strict';

exports.activate = () => process.abort();
