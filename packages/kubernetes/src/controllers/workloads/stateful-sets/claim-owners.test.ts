// Claims of StatefulSets and their `persistentVolumeClaimRetentionPolicy`. kube-controller-manager 1.36.2 passed the same specs of the e2e suite.

import { expect, test } from "vitest";
import { controlledClient } from "../../../testing/controlled-client.ts";
import { useClusterSurface } from "../../../testing/use-cluster-surface.ts";

const cluster = useClusterSurface(undefined, { runsWorkloads: () => true });
const { send, settled } = controlledClient(cluster);

const CORE = "/api/v1/namespaces/default";
const APPS = "/apis/apps/v1/namespaces/default/statefulsets";

type Policy = { readonly whenScaled: "Delete" | "Retain"; readonly whenDeleted: "Delete" | "Retain" };

/** A set of two pods that are there at once. */
async function make(name: string, policy: Policy) {
  const template = { metadata: { labels: { app: name } }, spec: { containers: [{ name: "a", image: "i" }] } };
  const claim = {
    metadata: { name: "data" },
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
  };
  const spec = {
    replicas: 2,
    podManagementPolicy: "Parallel",
    selector: { matchLabels: { app: name } },
    template,
    volumeClaimTemplates: [claim],
    persistentVolumeClaimRetentionPolicy: policy,
  };
  const set = await send("POST", APPS, { apiVersion: "apps/v1", kind: "StatefulSet", metadata: { name }, spec });
  return set.metadata.uid as string;
}
const change = (name: string, spec: object) => send("PATCH", `${APPS}/${name}`, { spec });
const claimOf = (pod: string) => send("GET", `${CORE}/persistentvolumeclaims/data-${pod}`);
const ownersOf = async (pod: string) => (await claimOf(pod)).metadata.ownerReferences ?? [];
const setOwners = (pod: string, ownerReferences: readonly object[]) =>
  send("PATCH", `${CORE}/persistentvolumeclaims/data-${pod}`, { metadata: { ownerReferences } });
const podOf = (name: string) => send("GET", `${CORE}/pods/${name}`);
const podNames = async (app: string) =>
  ((await send("GET", `${CORE}/pods?labelSelector=app%3D${app}`)).items as any[]).map(({ metadata }) => metadata.name);
const claimNames = async (app: string) =>
  ((await send("GET", `${CORE}/persistentvolumeclaims?labelSelector=app%3D${app}`)).items as any[]).map(
    ({ metadata }) => metadata.name,
  );
/** Pods stay while they are being deleted. */
const hold = (pod: string, finalizers: readonly string[] = ["example.com/held"]) =>
  send("PATCH", `${CORE}/pods/${pod}`, { metadata: { finalizers } });

const owner = (kind: string, name: string, uid: string) => ({
  apiVersion: kind === "Pod" ? "v1" : "apps/v1",
  kind,
  name,
  uid,
  controller: true,
  blockOwnerDeletion: true,
});

test("the set owns claims that go with it, and no others", async () => {
  const uid = await make("a", { whenScaled: "Retain", whenDeleted: "Delete" });
  expect(await ownersOf("a-1")).toEqual([owner("StatefulSet", "a", uid)]);
  await change("a", { persistentVolumeClaimRetentionPolicy: { whenScaled: "Retain", whenDeleted: "Retain" } });
  expect([await ownersOf("a-0"), await ownersOf("a-1")]).toEqual([[], []]);
  await change("a", { persistentVolumeClaimRetentionPolicy: { whenScaled: "Delete", whenDeleted: "Delete" } });
  expect(await ownersOf("a-0")).toEqual([owner("StatefulSet", "a", uid)]);
  await setOwners("a-0", [{ ...owner("StatefulSet", "a", uid), controller: false, blockOwnerDeletion: false }]);
  await change("a", { revisionHistoryLimit: 5 });
  expect(await ownersOf("a-0")).toEqual([owner("StatefulSet", "a", uid)]);
});

test.each(["Delete", "Retain"] as const)(
  "a claim goes with a pod beyond the last number; deleted: %s",
  async (whenDeleted) => {
    const name = `b-${whenDeleted.toLowerCase()}`;
    await make(name, { whenScaled: "Delete", whenDeleted });
    await hold(`${name}-1`);
    const pod = await podOf(`${name}-1`);
    await change(name, { replicas: 1 });
    expect(await ownersOf(`${name}-1`)).toEqual([owner("Pod", `${name}-1`, pod.metadata.uid)]);
    await hold(`${name}-1`, []);
    await expect.poll(() => claimNames(name)).toEqual([`data-${name}-0`]);
  },
);

test("claims that are retained stay with fewer pods, and are used again", async () => {
  await make("c", { whenScaled: "Retain", whenDeleted: "Retain" });
  const before = await claimOf("c-1");
  await change("c", { replicas: 1 });
  await change("c", { replicas: 2 });
  expect(await podNames("c")).toEqual(["c-0", "c-1"]);
  expect((await claimOf("c-1")).metadata.uid).toBe(before.metadata.uid);
});

test("a pod waits for the end of a claim that goes with its predecessor", async () => {
  await make("d", { whenScaled: "Delete", whenDeleted: "Retain" });
  await send("PATCH", `${CORE}/persistentvolumeclaims/data-d-1`, { metadata: { finalizers: ["example.com/held"] } });
  const before = await claimOf("d-1");
  await change("d", { replicas: 1 });
  await change("d", { replicas: 2 });
  expect(await podNames("d")).toEqual(["d-0"]);
  await send("PATCH", `${CORE}/persistentvolumeclaims/data-d-1`, { metadata: { finalizers: null } });
  await expect.poll(() => podNames("d"), { timeout: 5_000 }).toEqual(["d-0", "d-1"]);
  await settled();
  expect((await claimOf("d-1")).metadata.uid).not.toBe(before.metadata.uid);
});

test("a claim with another controller, or of an earlier set, is left alone", async () => {
  const uid = await make("e", { whenScaled: "Delete", whenDeleted: "Delete" });
  const map = await send("POST", `${CORE}/configmaps`, {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "e" },
  });
  const other = { ...owner("ConfigMap", "e", map.metadata.uid), apiVersion: "v1" };
  await setOwners("e-1", [other]);
  await hold("e-1");
  await change("e", { replicas: 1 });
  expect(await ownersOf("e-1")).toEqual([other]);
  await hold("e-1", []);
  await expect.poll(() => podNames("e")).toEqual(["e-0"]);
  expect(await claimNames("e")).toEqual(["data-e-0", "data-e-1"]);
  await setOwners("e-0", [{ ...other, controller: false }, owner("StatefulSet", "e", uid)]);
  await change("e", { persistentVolumeClaimRetentionPolicy: { whenScaled: "Retain", whenDeleted: "Retain" } });
  expect(await ownersOf("e-0")).toEqual([{ ...other, controller: false }]);
});
