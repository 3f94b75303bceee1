import { createMemoryStorage } from "@postern/apiserver/storage/memory/memory-storage";
import { expect, it } from "vitest";
import { createAccessKeyServer } from "../access-keys/testing/access-key-server.ts";
import type { IssuedCertificate } from "./issued-certificate.ts";
import { markVerifiedElsewhere } from "./mark-verified-elsewhere.ts";

const NOW = Date.now();
const names = { projectNamespace: (project: string) => `p-${project}` };

/** As an earlier release recorded it. */
const recorded = (virtualCluster: string, more: Partial<IssuedCertificate> = {}): IssuedCertificate => ({
  serial: Buffer.from(virtualCluster).toString("hex").toUpperCase(),
  commonName: "jane",
  organizations: [],
  issuedAt: NOW,
  notAfter: NOW + 3_600_000,
  instanceUid: `uid-of-${virtualCluster}`,
  issuedTo: {
    owner: { kind: "user", name: "jane" },
    ...{ ownerUid: undefined, project: "team", virtualCluster, parentUid: undefined, origins: [] },
  },
  ...more,
});

const SPECS: { readonly [name: string]: object } = {
  external: { external: true },
  connected: { clusterRef: { cluster: "eu" } },
  embedded: { clusterRef: { cluster: "embedded" } },
  lost: { clusterRef: { cluster: "gone" } },
  replaced: { external: true },
};
const lookup = {
  virtualClusterInstance: (namespace: string, name: string): any =>
    namespace === "p-team" && name in SPECS
      ? { metadata: { name, namespace, uid: name === "replaced" ? "another" : `uid-of-${name}` }, spec: SPECS[name] }
      : undefined,
  cluster: (name: string): any =>
    name === "gone" ? undefined : { metadata: { name }, spec: name === "embedded" ? { local: true } : {} },
};

it("marks what clusters of others verify, once, and keeps everything else of the record", async () => {
  const storage = createMemoryStorage();
  await using server = await createAccessKeyServer({ storage });
  const { certificates } = server;
  for (const name of [...Object.keys(SPECS), "deleted"]) await certificates.record(recorded(name));
  await certificates.record(recorded("x", { serial: "FF", issuedTo: undefined, instanceUid: "uid-of-external" }));
  await certificates.revoke(recorded("connected").serial);

  await markVerifiedElsewhere({ lookup, names } as any, certificates);
  const marked = certificates.all().filter(({ isVerifiedElsewhere }) => isVerifiedElsewhere === true);
  expect(marked.map(({ issuedTo }) => issuedTo?.virtualCluster).toSorted()).toEqual(["connected", "external"]);
  const external = certificates.find(recorded("external").serial) ?? expect.unreachable();
  expect(external).toMatchObject({ ...recorded("external"), isVerifiedElsewhere: true });
  expect(certificates.isAcceptedElsewhere(external)).toBe(true);
  // Revoking it in an earlier release did not end it either.
  const connected = certificates.find(recorded("connected").serial) ?? expect.unreachable();
  expect([connected.revokedAt !== undefined, certificates.isAcceptedElsewhere(connected)]).toEqual([true, true]);

  const { revision } = await storage.list("/registry/");
  await markVerifiedElsewhere({ lookup, names } as any, certificates);
  expect((await storage.list("/registry/")).revision).toBe(revision);
});
