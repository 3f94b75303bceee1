import { readFileSync } from "node:fs";
import type { UserInfo } from "@postern/apiserver/authentication/user-info";
import {
  derBitString,
  derElement,
  derInteger,
  derObjectIdentifier,
  derSequence,
  derSet,
  derUtf8String,
} from "@postern/apiserver/x509/der";
import { OID } from "@postern/apiserver/x509/object-identifiers";
import { encodePem } from "@postern/apiserver/x509/pem";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { cellsOf, messageOf } from "../testing/scenarios.ts";
import { createTestCluster, type TestCluster } from "../testing/test-cluster.ts";

const requestOf = (name: string): string =>
  readFileSync(new URL(`./testdata/${name}.csr`, import.meta.url)).toString("base64");

const alice: UserInfo = { name: "alice", uid: "u1", groups: ["devs"], extra: { a: ["b"] } };
const CLIENT_SIGNER = "kubernetes.io/kube-apiserver-client";
const RESOURCE = "certificatesigningrequests";
const approved = { type: "Approved", status: "True", reason: "Because" };

let cluster: TestCluster;
beforeEach(async () => {
  cluster = await createTestCluster();
});
afterEach(() => cluster[Symbol.asyncDispose]());

const create = (spec: object = {}, user = alice) =>
  cluster.create(
    RESOURCE,
    {
      metadata: { name: "c" },
      spec: {
        request: requestOf("alice"),
        signerName: CLIENT_SIGNER,
        usages: ["client auth"],
        username: "root",
        groups: ["system:masters"],
        ...spec,
      },
      status: { conditions: [approved] },
    },
    user,
  );
const write = (subresource: string, edit: (request: any) => object, user?: UserInfo) =>
  cluster.update(RESOURCE, { name: "c", subresource }, edit, user);
const withStatus = (status: object) => (request: any) => ({ ...request, status: { ...request.status, ...status } });
const stateOf = () => cellsOf(cluster, RESOURCE, "c")["Condition"];

/** Gives alice the verb on a signer by this name. */
async function grant(verb: string, name: string): Promise<void> {
  const metadata = { name: `${verb}r` };
  const rules = [{ verbs: [verb], apiGroups: ["certificates.k8s.io"], resources: ["signers"], resourceNames: [name] }];
  await cluster.create("clusterroles", { metadata, rules });
  const roleRef = { kind: "ClusterRole", name: metadata.name };
  await cluster.create("clusterrolebindings", { metadata, roleRef, subjects: [{ kind: "User", name: "alice" }] });
}

describe("certificate signing requests", () => {
  it("contain the requester, whatever the client sends, and start undecided", async () => {
    const created = await create();
    expect(created["spec"]).toMatchObject({ username: "alice", uid: "u1", groups: ["devs"], extra: { a: ["b"] } });
    expect(created["status"]).toEqual({});
    expect(stateOf()).toBe("Pending");
  });

  it.each([
    [{ usages: [] }, "spec.usages: Required value"],
    [{ usages: ["client auth", "client auth"] }, 'spec.usages[1]: Duplicate value: "client auth"'],
    [{ usages: ["world peace"] }, /spec.usages\[0\]: Unsupported value: "world peace": supported values: "any", /],
    [{ signerName: "" }, "spec.signerName: Required value"],
    [
      { signerName: "plain" },
      "spec.signerName: Invalid value: \"plain\": must be a fully qualified domain and path of the form 'example.com/signer-name'",
    ],
    [
      { expirationSeconds: 599 },
      "spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 600 seconds (10 minutes)",
    ],
    [{ request: "" }, /spec.request: Invalid value: "": PEM block type must be CERTIFICATE REQUEST/],
    [
      {
        request: Buffer.from(`-----BEGIN CERTIFICATE REQUEST-----\nMAA=\n-----END CERTIFICATE REQUEST-----`).toString(
          "base64",
        ),
      },
      /spec.request: Invalid value: .*expected tag 48, found nothing/,
    ],
  ])("are refused with %j", async (spec, message) => {
    const text = (await messageOf(create(spec))).replace(
      'CertificateSigningRequest.certificates.k8s.io "c" is invalid: ',
      "",
    );
    if (typeof message === "string") expect(text).toBe(message);
    else expect(text).toMatch(message);
  });

  it("never ask the API server's own signer for system:masters, also not in a multi-valued name", async () => {
    expect(await messageOf(create({ request: requestOf("masters") }))).toBe(
      `certificatesigningrequests.certificates.k8s.io "c" is forbidden: use of ${CLIENT_SIGNER} signer with system:masters group is not allowed`,
    );
  });

  /** A request whose subject has these organizations, in this order. Its signature is not checked here. */
  const requestWith = (...organizations: readonly Uint8Array[]): string => {
    const subject = organizations.map((text) => derSet(derSequence(derObjectIdentifier(OID.organization), text)));
    const info = derSequence(derInteger(Uint8Array.of(0)), derSequence(...subject), derSequence());
    const der = derSequence(info, derSequence(), derBitString(new Uint8Array(1)));
    return Buffer.from(encodePem("CERTIFICATE REQUEST", der)).toString("base64");
  };
  const teletex = derElement(0x14, [Buffer.from("x")]);

  it("do not hide system:masters behind an organization in an encoding that is not read", async () => {
    const request = requestWith(teletex, derUtf8String("system:masters"));
    expect(await messageOf(create({ request }))).toMatch(/with system:masters group is not allowed$/);
  });

  it("are refused when a name has control characters", async () => {
    const request = requestWith(derUtf8String("a\u0000b"), derUtf8String("system:masters"));
    expect(await messageOf(create({ request }))).toMatch(/spec.request: Invalid value: .*control character in text$/);
  });

  it("are approved by users with permission for the signer, permanently", async () => {
    await create();
    expect(await messageOf(write("approval", withStatus({ conditions: [approved] }), alice))).toBe(
      `certificatesigningrequests.certificates.k8s.io "c" is forbidden: user not permitted to approve requests with signerName "${CLIENT_SIGNER}"`,
    );
    await grant("approve", "kubernetes.io/*");
    const changed = await write(
      "approval",
      (request) => ({ ...withStatus({ conditions: [approved], certificate: "eA==" })(request), spec: {} }),
      alice,
    );
    expect(changed["spec"]).toMatchObject({ signerName: CLIENT_SIGNER });
    expect(changed["status"]).toEqual({
      conditions: [{ ...approved, lastUpdateTime: "1970-01-01T00:00:00Z", lastTransitionTime: "1970-01-01T00:00:00Z" }],
    });
    expect(stateOf()).toBe("Approved");
    const denied = { type: "Denied", status: "True" };
    expect(await messageOf(write("approval", withStatus({ conditions: [approved, denied] })))).toMatch(
      /status.conditions\[1\]: Invalid value: "Denied": Approved and Denied conditions are mutually exclusive/,
    );
    expect(await messageOf(write("approval", withStatus({ conditions: [] })))).toMatch(
      /status.conditions: Forbidden: updates may not remove a condition of type "Approved"/,
    );
  });

  it("get a certificate from users with permission to sign for the signer, permanently", async () => {
    await create();
    const certificate = withStatus({ certificate: "eA==" });
    expect(await messageOf(write("status", certificate, alice))).toMatch(/user not permitted to sign requests/);
    await grant("sign", CLIENT_SIGNER);
    expect(await messageOf(write("status", withStatus({ conditions: [approved] }), alice))).toMatch(
      /updates may not add or remove a condition of type "Approved" or "Denied"/,
    );
    expect(await messageOf(write("status", certificate, alice))).toBe("allowed");
    expect(stateOf()).toBe("Pending,Issued");
    expect(await messageOf(write("status", withStatus({ certificate: "eQ==" })))).toMatch(
      /status.certificate: Forbidden: updates may not change or remove a non-empty certificate/,
    );
  });

  it("cannot be changed through the main resource but for their metadata", async () => {
    await create();
    const changed = await write("", (request) => ({
      ...request,
      metadata: { ...request.metadata, labels: { a: "b" } },
      spec: {},
      status: { conditions: [approved] },
    }));
    expect(changed.metadata.labels).toEqual({ a: "b" });
    expect(changed["spec"]).toMatchObject({ signerName: CLIENT_SIGNER });
    expect(changed["status"]).toEqual({});
  });
});
