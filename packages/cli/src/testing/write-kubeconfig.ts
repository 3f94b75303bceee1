// A kubeconfig for a test server.

import { writeFileSync } from "node:fs";
import type { TestServer } from "@postern/client/testing/test-server";

/** Its current context leads to the server, with the token `secret`. */
export function writeKubeconfig(
  path: string,
  { url, certificatePem }: Pick<TestServer, "url" | "certificatePem">,
): void {
  const cluster = { server: url, "certificate-authority-data": Buffer.from(certificatePem).toString("base64") };
  writeFileSync(
    path,
    JSON.stringify({
      "current-context": "main",
      contexts: [{ name: "main", context: { cluster: "c", user: "u" } }],
      clusters: [{ name: "c", cluster }],
      users: [{ name: "u", user: { token: "secret" } }],
    }),
  );
}
