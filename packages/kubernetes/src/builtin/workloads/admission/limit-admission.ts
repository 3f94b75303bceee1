// Gives new pods the defaults of LimitRanges, and refuses pods and claims that ask for more or less than they allow.
// Source: k8s.io/kubernetes/plugin/pkg/admission/limitranger/admission.go

import type { JsonValue } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { canonicalQuantity, parseAmount } from "@postern/apimachinery/quantity/quantity";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import {
  type AdmissionAttributes,
  type AdmissionPlugin,
  forbiddenByAdmission,
} from "@postern/apiserver/registry/admission-plugin";
import type { InstalledResource } from "@postern/apiserver/registry/resource-registry";
import type { LimitRange } from "../../quotas/limit-ranges.ts";
import { quantityText } from "../../quotas/quantities.ts";
import type { Limit } from "../../quotas/validate-limit-range.ts";
import type { Container } from "../pod-fields.ts";
import { type Amounts, amountsOf, containerAmounts, podAmounts, type ResourceField } from "../pod-resources.ts";
import type { Pod } from "../pods.ts";

const ANNOTATION = "kubernetes.io/limit-ranger";
/** Looking at one LimitRange that is known takes as long as so much of a body. */
const BYTES_OF_RANGE = 1_024;

type List = { readonly [resource: string]: JsonValue };
type Asked = { readonly requests: Amounts; readonly limits: Amounts };

export function createLimitAdmission(ranges: InstalledResource): AdmissionPlugin {
  const read = new WeakMap<CachedObject, readonly Limit[]>();
  /** Those of each LimitRange in the namespace. */
  async function limitsIn({ namespace, context }: AdmissionAttributes): Promise<readonly (readonly Limit[])[]> {
    const all = ranges.view.list(ranges.keys.inNamespace(namespace));
    if (all.length === 0) return [];
    context.weigh(all.length * BYTES_OF_RANGE);
    await context.pause();
    return all.map((cached) => {
      // Stored objects have passed the schema of their kind.
      const known = read.get(cached) ?? (cached.decode() as LimitRange).spec?.limits ?? [];
      read.set(cached, known);
      return known;
    });
  }

  return {
    name: "LimitRanger",

    async admit(attributes) {
      const { object } = attributes;
      if (!isAbout(attributes, "pods") || object === undefined) return object;
      let pod = object as Pod;
      for (const limits of await limitsIn(attributes)) pod = withDefaults(pod, limits);
      return pod as KubeObject;
    },

    async validate(attributes) {
      const { object } = attributes;
      const isPod = isAbout(attributes, "pods");
      if ((!isPod && !isAbout(attributes, "persistentvolumeclaims")) || object === undefined) return;
      for (const limits of await limitsIn(attributes)) {
        const faults = limits.flatMap((limit) =>
          isPod ? podFaults(object as Pod, limit) : claimFaults(object, limit),
        );
        const [first] = faults;
        if (first === undefined) continue;
        const distinct = [...new Set(faults)];
        throw forbiddenByAdmission(attributes, distinct.length === 1 ? first : `[${distinct.join(", ")}]`);
      }
    },
  };
}

/** Containers of a pod do not change; what a claim asks for may grow. */
const isAbout = ({ resource, operation, subresource }: AdmissionAttributes, plural: string): boolean =>
  resource.group === "" &&
  resource.plural === plural &&
  subresource === "" &&
  (operation === "create" || (operation === "update" && plural !== "pods"));

function withDefaults(pod: Pod, limits: readonly Limit[]): Pod {
  const ofContainers = limits.filter(({ type }) => type === "Container");
  const requests: List = Object.assign({}, ...ofContainers.map(({ defaultRequest }) => defaultRequest ?? {}));
  const highest: List = Object.assign({}, ...ofContainers.map((limit) => limit.default ?? {}));
  const notes: string[] = [];
  const complete =
    (what: string) =>
    (container: Container): Container => {
      const resources = (container.resources ?? {}) as { readonly requests?: List; readonly limits?: List };
      const missing = (defaults: List, given: List | undefined): readonly string[] =>
        Object.keys(defaults)
          .filter((name) => given?.[name] === undefined)
          .toSorted();
      const [asked, limited] = [missing(requests, resources.requests), missing(highest, resources.limits)];
      if (asked.length > 0) notes.push(`${asked.join(", ")} request for ${what} ${container.name}`);
      if (limited.length > 0) notes.push(`${limited.join(", ")} limit for ${what} ${container.name}`);
      if (asked.length + limited.length === 0) return container;
      return {
        ...container,
        resources: {
          ...resources,
          requests: { ...requests, ...resources.requests },
          limits: { ...highest, ...resources.limits },
        } as never,
      };
    };
  const { spec = {} } = pod;
  const containers = spec.containers?.map(complete("container"));
  const initContainers = spec.initContainers?.map(complete("init container"));
  if (notes.length === 0) return pod;
  const annotations = { ...pod.metadata.annotations, [ANNOTATION]: `LimitRanger plugin set: ${notes.join("; ")}` };
  return {
    ...pod,
    metadata: { ...pod.metadata, annotations },
    spec: {
      ...spec,
      ...(containers === undefined ? {} : { containers }),
      ...(initContainers === undefined ? {} : { initContainers }),
    },
  };
}

function podFaults({ spec }: Pod, limit: Limit): readonly string[] {
  if (limit.type === "Pod") {
    const amounts = { requests: podAmounts(spec, "requests"), limits: podAmounts(spec, "limits") };
    return resourceFaults(limit, amounts, (field, name) => sumText(name, amounts[field].get(name) ?? 0n));
  }
  if (limit.type !== "Container") return [];
  return [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])].flatMap((container) => {
    const given = (container.resources ?? {}) as { readonly [field in ResourceField]?: List };
    return resourceFaults(
      limit,
      { requests: containerAmounts(container, "requests"), limits: containerAmounts(container, "limits") },
      (field, name) => amountText(given[field]?.[name]),
    );
  });
}

/** All that a claim has is its request. */
function claimFaults(claim: KubeObject, { type, min = {}, max = {} }: Limit): readonly string[] {
  if (type !== "PersistentVolumeClaim") return [];
  const { resources } = (claim["spec"] ?? {}) as { readonly resources?: { readonly requests?: List } };
  const requests = amountsOf(resources?.requests);
  const compare = (which: string, isOutside: (asked: bigint, allowed: bigint) => boolean) =>
    ((name, allowed, text) => {
      const what = `${which} ${name} usage per ${type} is ${text}`;
      const asked = requests.get(name);
      if (asked === undefined) return `${what}.  No request is specified`;
      return isOutside(asked, allowed)
        ? `${what}, but request is ${amountText(resources?.requests?.[name])}`
        : undefined;
    }) satisfies Check;
  return [
    ...each(
      min,
      compare("minimum", (asked, least) => asked < least),
    ),
    ...each(
      max,
      compare("maximum", (asked, most) => asked > most),
    ),
  ];
}

function resourceFaults(
  { type, min = {}, max = {}, maxLimitRequestRatio = {} }: Limit,
  { requests, limits }: Asked,
  textOf: (field: ResourceField, name: string) => string,
): readonly string[] {
  return [
    ...each(min, (name, least, text) => {
      const what = `minimum ${name} usage per ${type} is ${text}`;
      const [asked, top] = [requests.get(name), limits.get(name)];
      if (asked === undefined) return `${what}.  No request is specified`;
      if (asked < least) return `${what}, but request is ${textOf("requests", name)}`;
      return top !== undefined && top < least ? `${what}, but limit is ${textOf("limits", name)}` : undefined;
    }),
    ...each(max, (name, most, text) => {
      const what = `maximum ${name} usage per ${type} is ${text}`;
      const [asked, top] = [requests.get(name), limits.get(name)];
      if (top === undefined) return `${what}.  No limit is specified`;
      if (top > most) return `${what}, but limit is ${textOf("limits", name)}`;
      return asked !== undefined && asked > most ? `${what}, but request is ${textOf("requests", name)}` : undefined;
    }),
    ...each(maxLimitRequestRatio, (name, most, text) => {
      const what = `${name} max limit to request ratio per ${type} is ${text}`;
      const [asked, top] = [requests.get(name) ?? 0n, limits.get(name) ?? 0n];
      if (asked === 0n) return `${what}, but no request is specified or request is 0`;
      if (top === 0n) return `${what}, but no limit is specified or limit is 0`;
      const ratio = Number(top) / Number(asked);
      return ratio > Number(most) / Number(ONE) ? `${what}, but provided ratio is ${ratio.toFixed(6)}` : undefined;
    }),
  ];
}

const ONE = 1_000_000_000n;

type Check = (name: string, allowed: bigint, text: string) => string | undefined;

const each = (list: List, fault: Check): readonly string[] =>
  Object.entries(list).flatMap(([name, value]) => {
    const found = fault(name, parseAmount(quantityText(value)) ?? 0n, amountText(value));
    return found === undefined ? [] : [found];
  });

const amountText = (value: JsonValue | undefined): string => canonicalQuantity(quantityText(value)) ?? "";

/** Memory is shown by powers of 1,024, all else by powers of 1,000. */
const sumText = (name: string, amount: bigint): string => {
  const isBinary = name.includes("memory") && amount % (1024n * ONE) === 0n;
  return (isBinary ? canonicalQuantity(`${amount / (1024n * ONE)}Ki`) : canonicalQuantity(`${amount}n`)) ?? "";
};
