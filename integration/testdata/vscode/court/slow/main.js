// Its activation takes minutes.
'use strict';

exports.activate = () => new Promise((done) => { setTimeout(done, 300000); });
