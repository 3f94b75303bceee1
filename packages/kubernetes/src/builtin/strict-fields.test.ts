// Unknown and repeated fields of built-in kinds, which a strict request is refused for, and answers that are no Tables.

import { expect, test } from "vitest";
import { useClusterSurface } from "../testing/use-cluster-surface.ts";

const cluster = useClusterSurface();

const path = "/api/v1/namespaces/default/configmaps?fieldValidation=Strict";
const HEAD = '"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"}';

test.each([
  [`{${HEAD},"other":1,"data":{"a":"1","a":"2"}}`, 'unknown field "other", duplicate field "data.a"'],
  [`{${HEAD},"data":{"a":"1","a":"2"},"other":1}`, 'duplicate field "data.a", unknown field "other"'],
])("%s", async (text, faults) => {
  const { status, json } = await cluster.send({ method: "POST", path, text });
  expect([status, json.message]).toEqual([
    400,
    `ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: ${faults}`,
  ]);
});

test("a review is not acceptable as a Table", async () => {
  const review = {
    method: "POST",
    path: "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
    json: {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SelfSubjectAccessReview",
      spec: { nonResourceAttributes: { path: "/", verb: "get" } },
    },
  };
  const accept = "application/json;as=Table;v=v1;g=meta.k8s.io";
  expect((await cluster.send({ ...review, accept })).status).toBe(406);
  expect((await cluster.send({ ...review, accept: `${accept},application/json` })).json.kind).toBe(
    "SelfSubjectAccessReview",
  );
});

test("the network of Services is there, and ready", async () => {
  const { json } = await cluster.send({ method: "GET", path: "/apis/networking.k8s.io/v1/servicecidrs/kubernetes" });
  expect([json.spec.cidrs, json.status.conditions]).toEqual([
    ["10.96.0.0/12"],
    [expect.objectContaining({ type: "Ready", status: "True" })],
  ]);
});

test("a definition takes a condition that says nothing but a message", async () => {
  const crd = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  const schema = { openAPIV3Schema: { type: "object" } };
  await cluster.send({
    method: "POST",
    path: crd,
    json: {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: "boats.example.com" },
      spec: {
        group: "example.com",
        scope: "Cluster",
        names: { plural: "boats", kind: "Boat" },
        versions: [{ name: "v1", served: true, storage: true, schema }],
      },
    },
  });
  const { status, json } = await cluster.send({
    method: "PATCH",
    path: `${crd}/boats.example.com/status`,
    contentType: "application/json-patch+json",
    json: [{ op: "add", path: "/status/conditions", value: [{ message: "patched" }] }],
  });
  expect([status, json.status?.conditions]).toEqual([
    200,
    [expect.objectContaining({ type: "", status: "", message: "patched" })],
  ]);
});
