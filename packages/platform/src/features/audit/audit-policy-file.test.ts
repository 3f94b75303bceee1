import { resolveRequestInfo } from "@postern/apiserver/request/request-info";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { describe, expect, it } from "vitest";
import { ConfigurationError } from "../../foundation/config/configuration-error.ts";
import { createAccessKeyFormat } from "../access-keys/secrets/access-key-format.ts";
import { parseAuditPolicy } from "./audit-policy-file.ts";
import { alwaysRecordingCredentials, bodyRedaction } from "./credential-requests.ts";

const groups = { managementGroup: "management.postern", storageGroup: "storage.postern" };
const jane = { name: "jane", groups: ["devs"] };
const info = (method: string, path: string) => resolveRequestInfo(method, path, new URLSearchParams());
const below = (path: string) => `/apis/management.postern/v1/${path}`;

const head = "apiVersion: audit.k8s.io/v1\nkind: Policy\n";

describe("a policy file", () => {
  const policy = parseAuditPolicy(
    "p.yaml",
    `${head}omitStages: [RequestReceived]
rules:
  - level: None
    users: [jane]
    verbs: [get, list, watch]
  - level: Request
    resources: [{group: management.postern, resources: [projects]}]
  - level: None
    nonResourceURLs: ["/healthz*", /version]
  - level: Metadata
`,
  );

  it.each([
    ["GET", below("projects"), "None"],
    ["POST", below("projects"), "Request"],
    ["GET", "/healthz/ping", "None"],
    ["POST", below("users"), "Metadata"],
  ])("%s %s: %s", (method, path, level) => {
    expect(policy(jane, info(method, path))).toMatchObject({ level, omitStages: ["RequestReceived"] });
  });

  it.each([
    ["no YAML", "a: [", "YAML"],
    ["another kind", "apiVersion: v1\nkind: Policy\nrules: [{level: None}]", "audit.k8s.io/v1"],
    ["no rules", head, "rules"],
    ["an unknown level", `${head}rules: [{level: All}]`, "rules[0].level"],
    ["no level", `${head}rules: [{users: [x]}]`, "rules[0].level"],
    ["an unknown member", `${head}rules: [{level: None, user: [x]}]`, '"user"'],
    ["a text for a list", `${head}rules: [{level: None, users: x}]`, "rules[0].users"],
    ["a star in the middle", `${head}rules: [{level: None, nonResourceURLs: ["/a*b"]}]`, "nonResourceURLs"],
    ["both kinds of requests", `${head}rules: [{level: None, namespaces: [a], nonResourceURLs: [/a]}]`, "either"],
    ["names without resources", `${head}rules: [{level: None, resources: [{resourceNames: [a]}]}]`, "resourceNames"],
    ["a text for a switch", `${head}omitManagedFields: "yes"\nrules: [{level: None}]`, "omitManagedFields"],
    ["an unknown stage", `${head}rules: [{level: None, omitStages: [Start]}]`, "omitStages"],
  ])("is refused with %s", (_what, text, message) => {
    const parse = () => parseAuditPolicy("p.yaml", text);
    expect(parse).toThrow(ConfigurationError);
    expect(parse).toThrow(message);
  });
});

describe("requests that hand out credentials", () => {
  const nothing = alwaysRecordingCredentials(
    () => ({ level: "None", omitStages: ["ResponseComplete", "RequestReceived"] }),
    groups,
  );
  const format = createAccessKeyFormat("postern");
  const redaction = bodyRedaction(groups, format);
  const { value } = format.generate(systemRuntime.random);
  const body = { spec: { key: "a value of somebody", ttl: 1 }, data: { x: "s3cret-data" }, note: value, name: "n" };
  const kept = (method: string, path: string) => redaction(info(method, path))(body);

  it.each([
    ["POST", below("ownedaccesskeys")],
    ["PUT", below("ownedaccesskeys/a")],
    ["PATCH", below("ownedaccesskeys/a")],
    ["POST", below("ownedaccesskeys/a/rotate")],
    ["POST", "/apis/storage.postern/v1/accesskeys"],
    ["POST", below("namespaces/p-a/virtualclusterinstances/b/kubeconfig")],
    ["GET", below("namespaces/p-a/virtualclusterinstances/b/accesskey")],
    ["GET", below("clusters/a/accesskey")],
  ])("are always recorded, and without credentials: %s %s", (method, path) => {
    expect(nothing(jane, info(method, path))).toEqual({ level: "Metadata", omitStages: ["RequestReceived"] });
    const { data } = body;
    expect(kept(method, path)).toEqual({ spec: { key: "REDACTED", ttl: 1 }, data, note: "REDACTED", name: "n" });
  });

  it.each<[object | undefined, string, string]>([
    [{ ...body, note: "REDACTED" }, "POST", below("projects")],
    [{ ...body, spec: { key: "REDACTED", ttl: 1 }, note: "REDACTED" }, "POST", below("selves")],
    [{ ...body, data: { x: "REDACTED" } }, "POST", "/api/v1/namespaces/a/secrets"],
    [undefined, "POST", "/kubernetes/project/a/virtualcluster/b/api/v1/namespaces/c/secrets"],
    [undefined, "POST", "//kubernetes//cluster/a/api/v1/namespaces/c/secrets"],
  ])("of others is kept: %j of %s %s", (expected, method, path) => {
    expect(kept(method, path)).toEqual(expected);
    expect(nothing(jane, info(method, path)).level).toBe("None");
  });

  it("keeps the rest of a decision", () => {
    const policy = alwaysRecordingCredentials(
      () => ({ level: "Request", omitStages: [], omitManagedFields: true }),
      groups,
    );
    expect(policy(jane, info("POST", below("ownedaccesskeys")))).toEqual({
      level: "Request",
      omitStages: [],
      omitManagedFields: true,
    });
  });
});
