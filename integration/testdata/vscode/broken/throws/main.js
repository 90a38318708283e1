'use strict';

exports.activate = () => {
  throw new Error('on purpose');
};
