import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { connect, createServer, type Socket } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { PartedSocket } from "./parted-socket.ts";
import { PART_BYTES } from "./write-in-parts.ts";

/** Far more than the kernel takes for a connection. */
const LONG_BYTES = 64 << 20;

async function setup() {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const client = connect((server.address() as AddressInfo).port, "127.0.0.1");
  const [socket] = (await once(server, "connection")) as [Socket];
  onTestFinished(() => {
    client.destroy();
    socket.destroy();
    server.close();
  });
  return { client, socket, parted: new PartedSocket(socket) };
}

it("gives the connection no more than a part beyond what its reader takes", async () => {
  const { client, socket, parted } = await setup();
  client.pause();
  const bytes = Buffer.alloc(LONG_BYTES, "x");
  parted.write("head");
  parted.write(bytes);
  parted.end("tail");
  await expect.poll(() => socket.writableNeedDrain && socket.bytesWritten > PART_BYTES).toBe(true);
  expect(socket.writableLength).toBeLessThanOrEqual(PART_BYTES);
  let length = 0;
  for await (const chunk of client) {
    length += chunk.length;
    if (socket.writableLength > PART_BYTES) expect.unreachable();
  }
  expect(length).toBe("head".length + LONG_BYTES + "tail".length);
});

it("passes on what comes, and its end", async () => {
  const { client, parted } = await setup();
  client.write("question");
  expect(String((await once(parted, "data"))[0])).toBe("question");
  parted.end("answer");
  let text = "";
  for await (const chunk of client) text += chunk;
  expect(text).toBe("answer");
});

it("closes with its connection, in the middle of a write as well", async () => {
  const { client, parted } = await setup();
  client.pause();
  parted.write(Buffer.alloc(LONG_BYTES));
  const closed = once(parted, "close").catch((error: unknown) => error);
  client.resetAndDestroy();
  await closed;
  expect(parted.destroyed).toBe(true);
});
