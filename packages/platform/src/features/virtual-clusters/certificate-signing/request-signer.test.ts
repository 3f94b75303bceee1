import { generateKeyPairSync } from "node:crypto";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { createTestCluster } from "@postern/kubernetes/builtin/testing/test-cluster";
import { expect, it } from "vitest";
import { createCertificateAuthority } from "../../../foundation/pki/certificate-authority.ts";
import { createCertificateRequest } from "../../../foundation/pki/certificate-request.ts";
import { fullAccountError } from "../../../foundation/store/record-accounts.ts";
import { createRequestSigner } from "./request-signer.ts";

it("discards a certificate for whose holder there is no room, and says so in the request", async () => {
  await using cluster = await createTestCluster();
  const { clock, random } = systemRuntime;
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  const request = Buffer.from(createCertificateRequest(privateKey, { commonName: "dev", organizations: [] }));
  await cluster.create("certificatesigningrequests", {
    metadata: { name: "more" },
    spec: {
      request: request.toString("base64"),
      signerName: "kubernetes.io/kube-apiserver-client",
      usages: ["client auth"],
    },
  });
  await cluster.update("certificatesigningrequests", { name: "more", subresource: "approval" }, (current) => ({
    ...current,
    status: { conditions: [{ type: "Approved", status: "True", reason: "Test" }] },
  }));
  const authority = createCertificateAuthority({ commonName: "ca", clock, random });
  const signer = createRequestSigner({
    runtime: systemRuntime,
    requests: cluster.resource("certificatesigningrequests"),
    authority: () => authority,
    onSigned: () => Promise.reject(fullAccountError("the user has 5 client certificates")),
  });
  const { status } = await signer.sign("more", new AbortController().signal);
  expect(status?.certificate).toBeUndefined();
  expect(status?.conditions).toContainEqual(
    expect.objectContaining({ type: "Failed", message: "the user has 5 client certificates" }),
  );
});
