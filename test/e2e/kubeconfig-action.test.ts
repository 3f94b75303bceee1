// The request for a kubeconfig as an action on an instance: what it takes for its body, and what it answers to everything else.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { adminKey, type HttpClient, type HttpRequest, httpClient } from "./testing/http-client.ts";
import { type OwnServer, startOwnServer } from "./testing/own-server.ts";

const API = "/kubernetes/management/apis/management.postern/v1";
const INSTANCES = `${API}/namespaces/p-default/virtualclusterinstances`;
const DEMO = `${INSTANCES}/demo/kubeconfig`;
const KIND = { apiVersion: "management.postern/v1", kind: "VirtualClusterInstanceKubeConfig" };

let server: OwnServer;
let client: HttpClient;
let key: string;

beforeAll(async () => {
  server = await startOwnServer();
  client = await httpClient(server);
  key = await adminKey(server);
});

afterAll(() => server?.[Symbol.asyncDispose]());

const send = (path: string, options: HttpRequest = {}) => client(path, { key, ...options });
const post = (body: object | string, path = DEMO) => send(path, { method: "POST", body });

describe("the kubeconfig of an instance", () => {
  it("answers 201 with the kind of the request and its status filled in, named as the instance (B-05)", async () => {
    const bodies = [
      {},
      { ...KIND, metadata: { namespace: "p-default" }, spec: {}, status: { kubeConfig: "mine" } },
      { ...KIND, metadata: { name: "demo" }, spec: { certificateTTL: 900 } },
    ];
    for (const body of bodies) {
      const answer = await post(body);
      expect(answer.status, answer.text).toBe(201);
      expect(answer.body).toMatchObject({ ...KIND, metadata: { name: "demo", namespace: "p-default" } });
      expect(answer.body.status.kubeConfig).toMatch(/^apiVersion: v1\nkind: Config\n/);
    }
  });

  it.each<[string, object | string, number, string]>([
    [
      "of another kind",
      { ...KIND, kind: "Project" },
      422,
      'Project.management.postern "" is invalid: kind: Invalid value: "Project": must be VirtualClusterInstanceKubeConfig',
    ],
    [
      "of another version",
      { ...KIND, apiVersion: "v1" },
      400,
      "the API version in the data (v1) does not match the expected API version (management.postern/v1)",
    ],
    [
      "for another namespace",
      { ...KIND, metadata: { namespace: "other" } },
      400,
      "the namespace of the provided object does not match the namespace sent on the request",
    ],
    [
      "for another name",
      { ...KIND, metadata: { name: "other" } },
      400,
      "name in URL does not match name in VirtualClusterInstanceKubeConfig object",
    ],
    [
      "with a field of a wrong type",
      { spec: { certificateTTL: "x" } },
      422,
      'VirtualClusterInstanceKubeConfig.management.postern "demo" is invalid: spec.certificateTTL: Invalid value: "string": ' +
        'spec.certificateTTL in body must be of type integer: "string"',
    ],
    [
      "that is empty",
      "",
      400,
      "the object provided is unrecognized (must be of type VirtualClusterInstanceKubeConfig): couldn't get version/kind; json " +
        "parse error: unexpected end of JSON input (<empty>)",
    ],
  ])("refuses a body %s (B-05)", async (_what, body, code, message) => {
    expect((await post(body)).body).toMatchObject({ code, message });
  });

  it("makes nothing in a dry run, and knows one kind of it (B-05)", async () => {
    const dry = await post({}, `${DEMO}?dryRun=All`);
    expect({ status: dry.status, answer: dry.body.status }).toEqual({
      status: 201,
      answer: { kubeConfig: expect.stringMatching(/\n {2}user: \{\}\n$/) },
    });
    expect((await post({}, `${DEMO}?dryRun=x`)).body.message).toBe(
      'CreateOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: ["x"]: supported values: "All"',
    );
  });

  it("only supports create, on an existing instance, at its own path (B-05)", async () => {
    for (const method of ["GET", "PUT", "PATCH", "DELETE"]) {
      expect((await send(DEMO, { method })).body).toMatchObject({ code: 405, reason: "MethodNotAllowed" });
    }
    expect((await post({}, `${INSTANCES}/absent/kubeconfig`)).body).toMatchObject({
      code: 404,
      message: 'virtualclusterinstances.management.postern "absent" not found',
    });
    expect((await post({}, `${DEMO}/more`)).body).toMatchObject({
      code: 404,
      message: "the server could not find the requested resource",
    });
    const { resources } = (await send(API)).body;
    expect(resources).toContainEqual({
      name: "virtualclusterinstances/kubeconfig",
      singularName: "",
      namespaced: true,
      kind: KIND.kind,
      verbs: ["create"],
    });
  });

  it("needs the right to create the subresource (B-05)", async () => {
    const asNobody = { method: "POST", body: {}, headers: { "impersonate-user": "nobody" } };
    expect((await send(DEMO, asNobody)).body).toMatchObject({
      code: 403,
      message: expect.stringContaining(
        'User "nobody" cannot create resource "virtualclusterinstances/kubeconfig" in API group "management.postern" in the namespace "p-default"',
      ),
    });
  });
});
