// Fails where Node has changed a private member that this server leans on: then see node-internals.ts.

import { once } from "node:events";
import { connect as connectHttp2, createSecureServer, type ServerHttp2Session } from "node:http2";
import type { AddressInfo } from "node:net";
import type { TLSSocket } from "node:tls";
import { expect, it, onTestFinished } from "vitest";
import { handleOf, readNoFurther, readOn, takeSessionEnd } from "./node-internals.ts";
import { serverCertificate } from "./testing/serve-handler.ts";

async function openSession() {
  const server = createSecureServer(serverCertificate);
  const sockets: TLSSocket[] = [];
  server.prependListener("secureConnection", (socket: TLSSocket) => void sockets.push(socket));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const client = connectHttp2(`https://127.0.0.1:${port}`, { rejectUnauthorized: false });
  client.on("error", () => undefined);
  onTestFinished(() => {
    client.destroy();
    server.close();
  });
  const [session] = (await once(server, "session")) as [ServerHttp2Session];
  const [socket] = sockets;
  return { session, client, socket: socket as TLSSocket };
}

it(`sockets of Node ${process.version} have a handle that stops and starts reading`, async () => {
  const { socket, session, client } = await openSession();
  const handle = handleOf(socket);
  expect([typeof handle?.readStop, typeof handle?.readStart]).toEqual(["function", "function"]);
  readNoFurther(socket);
  let seen = 0;
  session.on("stream", (stream) => {
    seen++;
    stream.respond({ ":status": 200 }, { endStream: true });
  });
  const request = client.request({ ":path": "/" });
  request.on("error", () => undefined);
  expect(seen).toBe(0);
  readOn(socket);
  await once(request, "response");
  expect(seen).toBe(1);
});

it(`a session of Node ${process.version} ends in a listener of its socket that has this name`, async () => {
  const { socket, session } = await openSession();
  const end = takeSessionEnd(socket);
  expect(end).toBeTypeOf("function");
  const closed = once(session, "close");
  socket.destroy();
  await once(socket, "close");
  expect(session.destroyed).toBe(false);
  end?.();
  await closed;
  expect(session.destroyed).toBe(true);
});
