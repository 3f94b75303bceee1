// A process that keeps connections open on which it says as little as it is asked to, and opens another one for each that is ended.
// Arguments: port, kind (tcp, spread, hello, http/1.1, h2), how many. Sends its parent how many it has opened, once all of them are.

import { connect as connectTcp, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";

const [port = "", kind = "", count = ""] = process.argv.slice(2);
/** The head of a TLS record that promises a ClientHello. */
const HALF_A_HELLO = Buffer.from("1603010200010001fc0303", "hex");
/** Spread, so that the queue of the kernel is not what is attacked. */
const againMs = (): number => 500 + Math.random() * 1_000;

let opened = 0;

function open(): Socket {
  const host = "127.0.0.1";
  if (kind === "h2" || kind === "http/1.1") {
    return connectTls({ host, port: Number(port), rejectUnauthorized: false, ALPNProtocols: [kind] });
  }
  const localAddress = kind === "spread" ? `127.0.1.${1 + (opened % 200)}` : host;
  const socket = connectTcp({ host, port: Number(port), localAddress });
  if (kind === "hello") socket.write(HALF_A_HELLO);
  return socket;
}

function keepOpen(): void {
  const socket = open();
  opened += 1;
  if (opened === Number(count)) process.send?.("open");
  socket.on("error", () => undefined);
  socket.once("close", () => setTimeout(keepOpen, againMs()));
  socket.resume();
}

for (let n = 0; n < Number(count); n++) setTimeout(keepOpen, n);
process.on("disconnect", () => process.exit());
