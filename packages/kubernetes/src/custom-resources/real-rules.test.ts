// The constructs that the rules of widely used CustomResourceDefinitions are made of - cert-manager, Gateway API, Cluster API,
// Kueue, Istio, Karpenter, Crossplane - in schemas and words of our own.

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { StructuralSchema } from "@postern/apimachinery/schema/structural-schema";
import type { FieldError } from "@postern/apimachinery/validation/field-error";
import { expect, it } from "vitest";
import { compileValidationRules } from "./validation-rules.ts";

const STRING: StructuralSchema = { type: "string", maxLength: 63 };
const object = (properties: { [name: string]: StructuralSchema }, ...rules: readonly Rule[]): StructuralSchema => ({
  type: "object",
  properties,
  ...(rules.length === 0 ? {} : { "x-kubernetes-validations": rules }),
});
type Rule = { readonly rule: string; readonly message: string; readonly [member: string]: string | boolean };

const SCHEMA = object({
  spec: object(
    {
      // One of several members, and what a kind of it needs.
      issuer: object(
        {
          acme: object({ url: STRING }),
          vault: object({ path: STRING }),
          kind: STRING,
          secretRef: object({ name: STRING }),
        },
        {
          rule: "[has(self.acme), has(self.vault)].filter(x, x).size() <= 1",
          message: "exactly one kind of issuer",
        },
        {
          rule: "!(has(self.acme) && self.acme.url == '' && self.kind != 'Test')",
          message: "an address is needed",
        },
        {
          rule: "self.kind == 'Secret' ? has(self.secretRef) : !has(self.secretRef)",
          message: "a secret goes with its kind",
        },
      ),
      // A list whose items must differ, and depend on each other.
      listeners: {
        type: "array",
        maxItems: 16,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        items: object({
          name: STRING,
          port: { type: "integer" },
          protocol: STRING,
          hostname: STRING,
          tls: object({ mode: STRING, certificates: { type: "array", items: object({ name: STRING }) } }),
        }),
        "x-kubernetes-validations": [
          {
            rule: "self.all(l1, self.exists_one(l2, l1.port == l2.port && l1.protocol == l2.protocol && (has(l1.hostname) && has(l2.hostname) ? l1.hostname == l2.hostname : !has(l1.hostname) && !has(l2.hostname))))",
            message: "port, protocol and hostname must be unique",
          },
          {
            rule: "self.all(l, l.protocol in ['HTTP', 'TCP', 'UDP'] ? !has(l.tls) : true)",
            message: "no tls without its protocol",
          },
          {
            rule: "self.all(l, (l.protocol == 'HTTPS' && has(l.tls)) ? (l.tls.mode == '' || l.tls.mode == 'Terminate') : true)",
            message: "mode must be Terminate",
          },
          {
            rule: "self.all(l, !has(l.hostname) || l.hostname.matches(r'^(\\*\\.)?[a-z0-9.-]+$'))",
            message: "no hostname",
          },
        ],
      },
      // Filters that exclude each other by their type.
      filters: {
        type: "array",
        maxItems: 16,
        items: object(
          { type: STRING, redirect: object({ path: STRING }), rewrite: object({ path: STRING }) },
          { rule: "!(has(self.redirect) && self.type != 'Redirect')", message: "redirect with another type" },
          { rule: "!(!has(self.redirect) && self.type == 'Redirect')", message: "redirect is needed" },
        ),
        "x-kubernetes-validations": [
          {
            rule: "!(self.exists(f, f.type == 'Redirect') && self.exists(f, f.type == 'Rewrite'))",
            message: "either of the two",
          },
          { rule: "self.filter(f, f.type == 'Redirect').size() <= 1", message: "one redirect" },
        ],
      },
      // Resources by name, with quotas that have an order.
      quotas: {
        type: "array",
        maxItems: 16,
        items: object(
          {
            flavor: STRING,
            nominal: { "x-kubernetes-int-or-string": true, maxLength: 20, pattern: "^[0-9]+(m|[KMG]i?)?$" },
            limit: { type: "string", maxLength: 20 },
          },
          { rule: "quantity(string(self.nominal)).sign() >= 0", message: "a quota is not negative" },
          {
            rule: "!has(self.limit) || quantity(self.limit).compareTo(quantity(string(self.nominal))) >= 0",
            message: "a limit is not below its quota",
          },
        ),
      },
      cidrs: {
        type: "array",
        maxItems: 16,
        items: {
          type: "string",
          maxLength: 43,
          "x-kubernetes-validations": [
            { rule: "isCIDR(self) && cidr(self).prefixLength() >= 8", message: "a network" },
          ],
        },
      },
      // Fields that may not change, or only in one direction.
      clusterName: {
        type: "string",
        "x-kubernetes-validations": [{ rule: "self == oldSelf", message: "is immutable" }],
      },
      replicas: {
        type: "integer",
        "x-kubernetes-validations": [{ rule: "self >= oldSelf", message: "only grows" }],
      },
      endpoint: {
        ...object({ host: STRING, port: { type: "integer" } }),
        "x-kubernetes-validations": [
          {
            rule: "oldSelf.optMap(o, o == self).orValue(true)",
            message: "is set once",
            optionalOldSelf: true,
            reason: "FieldValueForbidden",
            fieldPath: ".host",
          },
        ],
      },
      selector: object(
        { labels: { type: "object", additionalProperties: STRING }, names: { type: "array", items: STRING } },
        {
          rule: "(has(self.labels) ? 1 : 0) + (has(self.names) ? 1 : 0) == 1",
          message: "labels or names",
          messageExpression: "'one of labels and names, not %d'.format([has(self.labels) ? 2 : 0])",
        },
        {
          rule: "!has(self.labels) || self.labels.all(k, k.size() <= 10 && !k.startsWith('reserved/'))",
          message: "keys are short",
        },
      ),
      percent: {
        "x-kubernetes-int-or-string": true,
        maxLength: 8,
        "x-kubernetes-validations": [
          {
            rule: "type(self) == int ? self >= 0 : self.matches('^[0-9]+%$') && int(self.replace('%', '')) <= 100",
            message: "a number or a percentage",
          },
        ],
      },
      timeout: {
        type: "string",
        "x-kubernetes-validations": [
          { rule: "duration(self) >= duration('1ms') && duration(self) < duration('1h')", message: "a short time" },
        ],
      },
      url: {
        type: "string",
        "x-kubernetes-validations": [
          { rule: "isURL(self) && url(self).getScheme() in ['http', 'https']", message: "an address of the web" },
        ],
      },
    },
    { rule: "!has(oldSelf.endpoint) || has(self.endpoint)", message: "the endpoint stays", fieldPath: ".endpoint" },
    {
      rule: "!has(self.listeners) || self.listeners.all(l, self.?clusterName.orValue('') != l.name)",
      message: "a listener has the name of the cluster",
    },
  ),
});

const errors: FieldError[] = [];
const rules = compileValidationRules(SCHEMA, "schema", errors);

function broken(spec: object, old?: object): readonly string[] {
  const objectOf = (value: object) =>
    ({ apiVersion: "g/v1", kind: "K", metadata: { name: "n" }, spec: value }) as KubeObject;
  const found = rules?.(objectOf(spec), old === undefined ? undefined : objectOf(old), () => {}) ?? [];
  return found.map(({ field, message }) => `${field}: ${message.replace(/^Invalid value: ("[a-z]*": )?/, "")}`);
}

it("the rules of all real definitions compile", () => {
  expect(errors).toEqual([]);
});

it.each<[string, string[], object, object?]>([
  ["one member of several", [], { issuer: { vault: { path: "p" }, kind: "Vault" } }],
  [
    "two members of several",
    [
      "spec.issuer: exactly one kind of issuer",
      "spec.issuer: an address is needed",
      "spec.issuer: a secret goes with its kind",
    ],
    { issuer: { vault: {}, acme: { url: "" }, kind: "Secret" } },
  ],
  [
    "items that differ",
    [],
    {
      listeners: [
        { name: "a", port: 80, protocol: "HTTP" },
        { name: "b", port: 80, protocol: "HTTP", hostname: "*.example.com" },
        { name: "c", port: 443, protocol: "HTTPS", tls: { mode: "Terminate" } },
      ],
    },
  ],
  [
    "items that do not differ",
    [
      "spec.listeners: port, protocol and hostname must be unique",
      "spec.listeners: no tls without its protocol",
      "spec.listeners: no hostname",
    ],
    {
      listeners: [
        { name: "a", port: 80, protocol: "HTTP", hostname: "A b" },
        { name: "b", port: 80, protocol: "HTTP", hostname: "A b", tls: { mode: "x" } },
      ],
    },
  ],
  [
    "a list that refers to something beside it",
    ["spec: a listener has the name of the cluster"],
    { clusterName: "a", listeners: [{ name: "a", port: 80, protocol: "HTTP" }] },
  ],
  [
    "filters that exclude each other",
    [
      "spec.filters: either of the two",
      "spec.filters[0]: redirect is needed",
      "spec.filters[1]: redirect with another type",
    ],
    { filters: [{ type: "Redirect" }, { type: "Rewrite", redirect: {} }] },
  ],
  [
    "quotas in order",
    [],
    {
      quotas: [
        { flavor: "a", nominal: 3, limit: "3000m" },
        { flavor: "b", nominal: "1Gi" },
      ],
    },
  ],
  [
    "quotas out of order",
    ["spec.quotas[0]: a limit is not below its quota"],
    { quotas: [{ flavor: "a", nominal: "1Gi", limit: "1G" }] },
  ],
  ["networks", ["spec.cidrs[1]: a network", "spec.cidrs[2]: a network"], { cidrs: ["10.0.0.0/8", "10.0.0.0/4", "x"] }],
  ["what may not change", ["spec.clusterName: is immutable"], { clusterName: "b" }, { clusterName: "a" }],
  ["what only grows", ["spec.replicas: only grows"], { replicas: 1 }, { replicas: 2 }],
  ["what is set for the first time", [], { endpoint: { host: "a" } }],
  ["what is set later", [], { endpoint: { host: "a" } }, {}],
  [
    "what is set twice",
    ["spec.endpoint.host: Forbidden: is set once"],
    { endpoint: { host: "b" } },
    { endpoint: { host: "a" } },
  ],
  ["what is taken away", ["spec.endpoint: the endpoint stays"], {}, { endpoint: { host: "a" } }],
  ["a computed message", ["spec.selector: one of labels and names, not 0"], { selector: {} }],
  ["keys of maps", ["spec.selector: keys are short"], { selector: { labels: { "reserved/a": "" } } }],
  ["a number", [], { percent: 5 }],
  ["a percentage", [], { percent: "50%" }],
  ["no percentage", ["spec.percent: a number or a percentage"], { percent: "150%" }],
  ["a time", ["spec.timeout: a short time"], { timeout: "2h" }],
  [
    "no time",
    ["spec.timeout: type conversion error from 'string' to 'google.protobuf.Duration' evaluating rule: a short time"],
    { timeout: "2" },
  ],
  ["an address", ["spec.url: an address of the web"], { url: "ftp://a/" }],
])("tell %s", (_name, expected, spec, old) => {
  expect(broken(spec, old)).toEqual(expected);
});
