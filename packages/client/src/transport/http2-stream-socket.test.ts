import { once } from "node:events";
import { connect, constants, createServer, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { expect, it } from "vitest";
import { Http2StreamSocket } from "./http2-stream-socket.ts";

/** More than the windows of a stream and the buffers on the way hold. */
const MUCH = Buffer.alloc(8 << 20, "x");

/** Both ends of one stream. */
async function openStream() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  session.on("error", () => undefined);
  const opened = once(server, "stream");
  const near = session.request({ ":method": "CONNECT", ":authority": "there" }, { endStream: false });
  near.on("error", () => undefined);
  const far: ServerHttp2Stream = (await opened)[0];
  far.on("error", () => undefined);
  far.respond({ ":status": 200 });
  await once(near, "response");
  return {
    near,
    far,
    [Symbol.dispose]() {
      session.destroy();
      server.close();
    },
  };
}

it("ends at the peer whose writes wait, when it is destroyed", async () => {
  using streams = await openStream();
  const { near, far } = streams;
  const socket = new Http2StreamSocket(near);
  const closed = once(far, "close");
  far.write(MUCH);
  await once(socket, "readable");
  socket.destroy();
  await closed;
  expect([far.destroyed, far.rstCode]).toEqual([true, constants.NGHTTP2_CANCEL]);
});

it("is closed where the peer resets the stream without an error, although writes wait", async () => {
  using streams = await openStream();
  const { near, far } = streams;
  const socket = new Http2StreamSocket(far);
  socket.on("error", () => undefined);
  const closed = new Promise((resolve) => socket.once("close", resolve));
  socket.write(MUCH);
  await once(near, "readable");
  near.destroy();
  await closed;
  await expect.poll(() => far.destroyed).toBe(true);
  expect(socket.destroyed).toBe(true);
});

it("brings what was written before its end", async () => {
  using streams = await openStream();
  const { near, far } = streams;
  const [one, other] = [new Http2StreamSocket(near), new Http2StreamSocket(far)];
  one.end();
  other.end(MUCH);
  let bytes = 0;
  for await (const chunk of one) bytes += chunk.length;
  expect(bytes).toBe(MUCH.length);
});

it("brings what was written before its end, where the other direction stays open", async () => {
  using streams = await openStream();
  const { near, far } = streams;
  const [one, other] = [new Http2StreamSocket(near), new Http2StreamSocket(far)];
  other.once("finish", () => other.destroy());
  other.end(MUCH);
  let bytes = 0;
  for await (const chunk of one) {
    bytes += chunk.length;
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(bytes).toBe(MUCH.length);
});
