// Loaded into a server before anything else: the thread named REDIRECTED_THREAD connects to the port REDIRECTED_TO in place of REDIRECTED_FROM.

import net from "node:net";
import { threadName } from "node:worker_threads";

const { REDIRECTED_THREAD: name, REDIRECTED_FROM: from, REDIRECTED_TO: to } = process.env;

if (threadName === name) {
  const { connect } = net.Socket.prototype;
  net.Socket.prototype.connect = function (...args) {
    const [options] = args.flat();
    if (String(options?.port) === from) options.port = Number(to);
    return connect.apply(this, args);
  };
}
