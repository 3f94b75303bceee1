// Ingresses and claims without a class, where classes are marked as the default.

import { expect, test } from "vitest";
import { useClusterSurface } from "../testing/use-cluster-surface.ts";

const cluster = useClusterSurface();

const post = async (path: string, kind: string, metadata: object, rest: object) => {
  const apiVersion = path.includes("/apis/") ? path.split("/").slice(2, 4).join("/") : "v1";
  const answer = await cluster.send({ method: "POST", path, json: { apiVersion, kind, metadata, ...rest } });
  await cluster.settled();
  return answer.json;
};

const ingressClass = (name: string, isDefault: boolean) =>
  post(
    "/apis/networking.k8s.io/v1/ingressclasses",
    "IngressClass",
    { name, annotations: { "ingressclass.kubernetes.io/is-default-class": String(isDefault) } },
    { spec: { controller: "example.com/c" } },
  );
const classOfIngress = async (name: string, spec: object = {}, annotations: object = {}) =>
  (
    await post(
      "/apis/networking.k8s.io/v1/namespaces/default/ingresses",
      "Ingress",
      { name, annotations },
      { spec: { defaultBackend: { service: { name: "web", port: { number: 80 } } }, ...spec } },
    )
  ).spec.ingressClassName;

test("an Ingress gets the default class, unless it names one", async () => {
  await ingressClass("plain", false);
  expect(await classOfIngress("before")).toBeUndefined();
  await ingressClass("one", true);
  expect(await classOfIngress("after")).toBe("one");
  expect(await classOfIngress("own", { ingressClassName: "plain" })).toBe("plain");
  expect(await classOfIngress("older", {}, { "kubernetes.io/ingress.class": "x" })).toBeUndefined();
});

test("the newest of several defaults is taken, and the first by name of equally old ones", async () => {
  const second = async (): Promise<string> => (await ingressClass("second", true)).metadata.creationTimestamp;
  const first = (await cluster.send({ method: "GET", path: "/apis/networking.k8s.io/v1/ingressclasses/one" })).json;
  const isNewer = (await second()) > first.metadata.creationTimestamp;
  expect(await classOfIngress("several")).toBe(isNewer ? "second" : "one");
});

test("a claim gets the default StorageClass; one that wants none says so by an empty name", async () => {
  await post(
    "/apis/storage.k8s.io/v1/storageclasses",
    "StorageClass",
    { name: "usual", annotations: { "storageclass.kubernetes.io/is-default-class": "true" } },
    { provisioner: "example.com/p" },
  );
  const claim = async (name: string, spec: object = {}) =>
    (
      await post(
        "/api/v1/namespaces/default/persistentvolumeclaims",
        "PersistentVolumeClaim",
        { name },
        { spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } }, ...spec } },
      )
    ).spec.storageClassName;
  expect([await claim("plain"), await claim("none", { storageClassName: "" })]).toEqual(["usual", ""]);
});
