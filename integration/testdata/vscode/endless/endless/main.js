// Its activation does not end, as that of an extension that waits for a login.
exports.activate = () => new Promise(() => {});
