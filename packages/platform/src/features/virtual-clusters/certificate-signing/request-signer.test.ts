import { generateKeyPairSync, X509Certificate } from "node:crypto";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { createTestCluster, type TestCluster } from "@postern/kubernetes/builtin/testing/test-cluster";
import { expect, it } from "vitest";
import { createCertificateAuthority } from "../../../foundation/pki/certificate-authority.ts";
import { createCertificateRequest } from "../../../foundation/pki/certificate-request.ts";
import { fullAccountError } from "../../../foundation/store/record-accounts.ts";
import { createRequestSigner } from "./request-signer.ts";

async function approvedRequest(cluster: TestCluster, name: string): Promise<void> {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  const request = Buffer.from(createCertificateRequest(privateKey, { commonName: "dev", organizations: [] }));
  await cluster.create("certificatesigningrequests", {
    metadata: { name },
    spec: {
      request: request.toString("base64"),
      signerName: "kubernetes.io/kube-apiserver-client",
      usages: ["client auth"],
    },
  });
  await cluster.update("certificatesigningrequests", { name, subresource: "approval" }, (current) => ({
    ...current,
    status: { conditions: [{ type: "Approved", status: "True", reason: "Test" }] },
  }));
}

it("gives the certificates of several servers one serial, so that the one that is delivered is the one that is recorded", async () => {
  await using cluster = await createTestCluster();
  const authority = createCertificateAuthority({ commonName: "ca", ...systemRuntime });
  const recorded: string[] = [];
  const signers = ["first", "second", "third"].map(() =>
    createRequestSigner({
      runtime: systemRuntime,
      requests: cluster.resource("certificatesigningrequests"),
      authority: () => authority,
      onSigned: async (pem) => void recorded.push(new X509Certificate(pem).serialNumber),
    }),
  );
  const serialOf = async (name: string): Promise<string> => {
    await approvedRequest(cluster, name);
    const signed = await Promise.all(signers.map(({ sign }) => sign(name, new AbortController().signal)));
    const [delivered = ""] = new Set(signed.map(({ status }) => status?.certificate));
    return new X509Certificate(Buffer.from(delivered, "base64")).serialNumber;
  };
  const serials = [await serialOf("one"), await serialOf("two")];
  expect(new Set(recorded)).toEqual(new Set(serials));
  expect(recorded.length).toBeGreaterThan(2);
  expect(serials[0]).not.toBe(serials[1]);
});

it("discards a certificate for whose holder there is no room, and says so in the request", async () => {
  await using cluster = await createTestCluster();
  const { clock, random } = systemRuntime;
  await approvedRequest(cluster, "more");
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
