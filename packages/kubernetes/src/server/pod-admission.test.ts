// New pods of a cluster whose ServiceAccounts have tokens.

import { expect, test } from "vitest";
import { createServiceAccountKeyPem, serviceAccountKeyFromPem } from "../service-accounts/service-account-key.ts";
import { useClusterSurface } from "../testing/use-cluster-surface.ts";

const cluster = useClusterSurface(serviceAccountKeyFromPem(createServiceAccountKeyPem()));

const create = (path: string, json: object) => cluster.send({ method: "POST", path: `/api/v1/${path}`, json });
const pod = (name: string, spec: object = {}, namespace = "default") =>
  create(`namespaces/${namespace}/pods`, {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name },
    spec: { containers: [{ name: "a", image: "i" }], initContainers: [{ name: "b", image: "i" }], ...spec },
  });

const PATH = "/var/run/secrets/kubernetes.io/serviceaccount";

test("a pod gets the default account, and each of its containers a token", async () => {
  const { status, json } = await pod("plain");
  expect(status).toBe(201);
  const { serviceAccountName, serviceAccount, volumes, containers, initContainers } = json.spec;
  expect([serviceAccountName, serviceAccount]).toEqual(["default", "default"]);
  const [{ name, projected }] = volumes;
  expect(name).toMatch(/^kube-api-access-[a-z0-9]{5}$/);
  expect(projected).toEqual({
    defaultMode: 420,
    sources: [
      { serviceAccountToken: { expirationSeconds: 3607, path: "token" } },
      { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
      {
        downwardAPI: {
          items: [{ path: "namespace", fieldRef: { apiVersion: "v1", fieldPath: "metadata.namespace" } }],
        },
      },
    ],
  });
  const mounts = [{ name, readOnly: true, mountPath: PATH }];
  expect([containers[0].volumeMounts, initContainers[0].volumeMounts]).toEqual([mounts, mounts]);
});

test("a pod of a namespace that was just made waits for the account of it", async () => {
  await create("namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name: "new" } });
  expect(await pod("early", {}, "new")).toMatchObject({
    status: 201,
    json: { spec: { serviceAccountName: "default" } },
  });
});

test("an account that is not there is refused", async () => {
  expect(await pod("lost", { serviceAccountName: "absent" })).toMatchObject({
    status: 403,
    json: {
      message:
        'pods "lost" is forbidden: error looking up service account default/absent: serviceaccount "absent" not found',
    },
  });
});

test("pod and account may say that no token is wanted, the pod first", async () => {
  const account = (name: string, automountServiceAccountToken?: boolean) =>
    create("namespaces/default/serviceaccounts", {
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: { name },
      imagePullSecrets: [{ name: "registry" }],
      ...(automountServiceAccountToken === undefined ? {} : { automountServiceAccountToken }),
    });
  await account("unmounted", false);
  await account("mounted");
  const mounted = async (name: string, spec: object) => {
    const { json } = await pod(name, spec);
    return [json.spec.volumes !== undefined, json.spec.imagePullSecrets];
  };
  const pulls = [{ name: "registry" }];
  expect(await mounted("p1", { serviceAccountName: "unmounted" })).toEqual([false, pulls]);
  expect(await mounted("p2", { serviceAccountName: "unmounted", automountServiceAccountToken: true })).toEqual([
    true,
    pulls,
  ]);
  expect(await mounted("p3", { serviceAccountName: "mounted", automountServiceAccountToken: false })).toEqual([
    false,
    pulls,
  ]);
  const own = [{ name: "own" }];
  expect(await mounted("p4", { serviceAccountName: "mounted", imagePullSecrets: own })).toEqual([true, own]);
});

test("a container that mounts something at the place of the token keeps it", async () => {
  const volumeMounts = [{ name: "own", mountPath: PATH }];
  const { json } = await pod("own", {
    containers: [{ name: "a", image: "i", volumeMounts }],
    initContainers: [],
    volumes: [{ name: "own", emptyDir: {} }],
  });
  expect([json.spec.containers[0].volumeMounts, json.spec.volumes.length]).toEqual([volumeMounts, 1]);
});

test("a negative grace period is one second", async () => {
  const { json } = await pod("hasty", { terminationGracePeriodSeconds: -1 });
  expect(json.spec.terminationGracePeriodSeconds).toBe(1);
});
