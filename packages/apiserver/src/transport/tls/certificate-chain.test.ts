import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { connect, createServer, type TLSSocket } from "node:tls";
import { expect, it } from "vitest";
import { createTestCertificate } from "../testing/test-certificates.ts";
import { bytesOfChain, peerCertificateOf } from "./certificate-chain.ts";

const names = (count: number): string => Array.from({ length: count }, (_, at) => `DNS:host${at}.example.com`).join();
const own = createTestCertificate("client");
const large = createTestCertificate("large", {}, names(1_000));
const lengthOf = (...certificates: readonly { readonly cert: string }[]): number =>
  certificates.reduce((sum, { cert }) => sum + new X509Certificate(cert).raw.length, 0);

async function presented<T>(cert: string | undefined, read: (socket: TLSSocket) => T): Promise<T> {
  const server = createServer({ ...createTestCertificate(), requestCert: true, rejectUnauthorized: false });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const accepted = once(server, "secureConnection");
  const identity = cert === undefined ? {} : { cert, key: own.key };
  const client = connect({ port, host: "127.0.0.1", rejectUnauthorized: false, ...identity });
  const [socket] = (await accepted) as [TLSSocket];
  const found = read(socket);
  for (const end of [client, socket, server]) end instanceof Object && "destroy" in end ? end.destroy() : end.close();
  return found;
}

it.each([
  ["no certificate", undefined, 0],
  ["one certificate", own.cert, lengthOf(own)],
  ["a certificate with another that did not sign it", own.cert + large.cert, lengthOf(own, large)],
  ["several of these", own.cert + large.cert + large.cert, lengthOf(own, large, large)],
])("the chain of a client with %s has its length", async (_, cert, length) => {
  expect(await presented(cert, bytesOfChain)).toBe(length);
});

it("the certificate of a client is the first of its chain", async () => {
  const certificate = await presented(own.cert + large.cert, (socket) => peerCertificateOf(socket)?.raw);
  expect(certificate).toEqual(new X509Certificate(own.cert).raw);
});
