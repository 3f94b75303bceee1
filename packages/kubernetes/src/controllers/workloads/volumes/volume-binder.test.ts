// Volumes and claims of a cluster whose workloads are controlled.

import { describe, expect, test } from "vitest";
import { controlledClient } from "../../../testing/controlled-client.ts";
import { useClusterSurface } from "../../../testing/use-cluster-surface.ts";

const cluster = useClusterSurface(undefined, { runsWorkloads: () => true });

const VOLUMES = "/api/v1/persistentvolumes";
const CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims";
const PODS = "/api/v1/namespaces/default/pods";

const { send } = controlledClient(cluster);

const makeVolume = (name: string, storage: string, spec: object = {}) =>
  send("POST", VOLUMES, {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name, labels: { volume: name } },
    spec: { capacity: { storage }, accessModes: ["ReadWriteOnce"], hostPath: { path: "/data" }, ...spec },
  });
const makeClaim = (name: string, storage: string, spec: object = {}) =>
  send("POST", CLAIMS, {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name },
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage } }, ...spec },
  });
const volumeOf = (name: string) => send("GET", `${VOLUMES}/${name}`);
const claimOf = (name: string) => send("GET", `${CLAIMS}/${name}`);
const phaseOf = async (object: Promise<any>) => (await object).status.phase;
const statusOf = async (path: string) => (await cluster.send({ method: "GET", path })).status;

describe("a claim", () => {
  test("gets the smallest volume that fits", async () => {
    await makeVolume("large", "5Gi", { storageClassName: "a" });
    await makeVolume("middle", "2Gi", { storageClassName: "a" });
    await makeVolume("small", "1Gi", { storageClassName: "a" });
    expect(await phaseOf(volumeOf("middle"))).toBe("Available");
    await makeClaim("first", "1500Mi", { storageClassName: "a" });
    const claim = await claimOf("first");
    expect(claim.spec.volumeName).toBe("middle");
    expect(claim.status).toEqual({ phase: "Bound", accessModes: ["ReadWriteOnce"], capacity: { storage: "2Gi" } });
    expect(claim.metadata.annotations).toEqual({
      "pv.kubernetes.io/bind-completed": "yes",
      "pv.kubernetes.io/bound-by-controller": "yes",
    });
    const volume = await volumeOf("middle");
    expect(volume.status).toMatchObject({ phase: "Bound" });
    expect(volume.spec.claimRef).toMatchObject({ namespace: "default", name: "first", uid: claim.metadata.uid });
    expect(await phaseOf(volumeOf("large"))).toBe("Available");
  });

  test("waits for a volume that comes later", async () => {
    await makeClaim("patient", "1Gi", { storageClassName: "b", selector: { matchLabels: { volume: "second" } } });
    expect(await phaseOf(claimOf("patient"))).toBe("Pending");
    await makeVolume("other", "1Gi", { storageClassName: "b" });
    await makeVolume("second", "1Gi", { storageClassName: "b" });
    await expect.poll(() => phaseOf(claimOf("patient")), { timeout: 20_000 }).toBe("Bound");
    expect((await claimOf("patient")).spec.volumeName).toBe("second");
  });

  test("gets the volume that it names, or that names it, and no other", async () => {
    await makeVolume("named", "1Gi", { storageClassName: "c" });
    await makeVolume("reserved", "1Gi", { storageClassName: "", claimRef: { namespace: "default", name: "owner" } });
    await makeClaim("naming", "1Gi", { storageClassName: "c", volumeName: "named" });
    await makeClaim("owner", "1Gi", { storageClassName: "" });
    expect(await phaseOf(claimOf("naming"))).toBe("Bound");
    expect((await claimOf("owner")).spec.volumeName).toBe("reserved");
    await makeClaim("late", "1Gi", { storageClassName: "c", volumeName: "named" });
    expect(await phaseOf(claimOf("late"))).toBe("Pending");
  });

  test("of a class asks its provisioner", async () => {
    await send("POST", "/apis/storage.k8s.io/v1/storageclasses", {
      apiVersion: "storage.k8s.io/v1",
      kind: "StorageClass",
      metadata: { name: "fast" },
      provisioner: "disks.example.com",
    });
    await makeClaim("provided", "1Gi", { storageClassName: "fast" });
    const { metadata, status } = await claimOf("provided");
    expect(metadata.annotations["volume.kubernetes.io/storage-provisioner"]).toBe("disks.example.com");
    expect(status.phase).toBe("Pending");
  });
});

describe("what is deleted", () => {
  test("stays while it is used", async () => {
    await makeVolume("held", "1Gi", { storageClassName: "d" });
    await makeClaim("held", "1Gi", { storageClassName: "d" });
    await send("POST", PODS, {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "user" },
      spec: {
        nodeName: "n",
        containers: [{ name: "a", image: "i" }],
        volumes: [{ name: "v", persistentVolumeClaim: { claimName: "held" } }],
      },
    });
    await send("DELETE", `${VOLUMES}/held`);
    await send("DELETE", `${CLAIMS}/held`);
    expect((await volumeOf("held")).metadata.finalizers).toEqual(["kubernetes.io/pv-protection"]);
    expect((await claimOf("held")).metadata.finalizers).toEqual(["kubernetes.io/pvc-protection"]);
    await send("DELETE", `${PODS}/user?gracePeriodSeconds=0`);
    await expect.poll(() => statusOf(`${CLAIMS}/held`), { timeout: 20_000 }).toBe(404);
    await expect.poll(() => statusOf(`${VOLUMES}/held`), { timeout: 20_000 }).toBe(404);
  });

  test("goes at once where nothing uses it; the volume of a claim that is gone is released", async () => {
    await makeVolume("unused", "1Gi", { storageClassName: "e" });
    await makeVolume("kept", "2Gi", { storageClassName: "e" });
    await send("DELETE", `${VOLUMES}/unused`);
    expect(await statusOf(`${VOLUMES}/unused`)).toBe(404);
    await makeClaim("brief", "1Gi", { storageClassName: "e" });
    expect((await claimOf("brief")).spec.volumeName).toBe("kept");
    await send("DELETE", `${CLAIMS}/brief`);
    expect(await statusOf(`${CLAIMS}/brief`)).toBe(404);
    await expect.poll(() => phaseOf(volumeOf("kept")), { timeout: 20_000 }).toBe("Released");
  });
});
