import { once } from "node:events";
import { type ConnectionOptions, connect } from "node:tls";
import { describe, expect, it } from "vitest";
import { echo, serveHandler, serverCertificate } from "../testing/serve-handler.ts";

/** The code of the error that ends the handshake; undefined if it succeeds. */
async function handshake(options: ConnectionOptions): Promise<string | undefined> {
  const { port } = await serveHandler(echo);
  const socket = connect({ port, host: "127.0.0.1", ca: serverCertificate.cert, ...options });
  try {
    await once(socket, "secureConnect");
    return undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code;
  } finally {
    socket.destroy();
  }
}

describe("the key exchange of a handshake", () => {
  it.each(["prime256v1", "X25519", "secp384r1", "secp521r1"])("takes the curve %s", async (curve) => {
    expect(await handshake({ ecdhCurve: curve, minVersion: "TLSv1.3" })).toBeUndefined();
    // In TLS 1.2 the curve of the server's certificate has to be listed as well.
    expect(
      await handshake({ ecdhCurve: [...new Set([curve, "prime256v1"])].join(":"), maxVersion: "TLSv1.2" }),
    ).toBeUndefined();
  });

  it.each(["ffdhe2048", "ffdhe3072", "ffdhe4096", "ffdhe6144", "ffdhe8192"])("refuses the group %s", async (group) => {
    expect(await handshake({ ecdhCurve: group, minVersion: "TLSv1.3" })).toMatch(/^ERR_SSL_/);
  });

  it.each(["DHE-RSA-AES128-GCM-SHA256", "DHE-RSA-AES256-SHA", "AES128-GCM-SHA256"])(
    "refuses the suite %s",
    async (ciphers) => {
      expect(await handshake({ ciphers, maxVersion: "TLSv1.2" })).toMatch(/^ERR_SSL_/);
    },
  );
});
