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
import type { Container } from "../pods/pod-fields.ts";
import { type Amounts, amountsOf, containerAmounts, podAmounts, type ResourceField } from "../pods/pod-resources.ts";
import type { Pod } from "../pods/pods.ts";

const ANNOTATION = "kubernetes.io/limit-ranger";
/** Looking at one LimitRange that is known takes as long as so much of a body. */
const BYTES_OF_RANGE = 1_024;

type List = { readonly [resource: string]: JsonValue };
type Asked = { readonly requests: Amounts; readonly limits: Amounts };

/** One resource of a limit. The text is that of messages. */
type Bound = { readonly name: string; readonly amount: bigint; readonly text: string };
type Bounds = {
  readonly type: string;
  readonly min: readonly Bound[];
  readonly max: readonly Bound[];
  readonly ratio: readonly Bound[];
};

/** A LimitRange whose quantities have been read. */
type ReadRange = {
  readonly limits: readonly Bounds[];
  /** Defaults of containers. */
  readonly requests: List;
  readonly highest: List;
};

export function createLimitAdmission(ranges: InstalledResource): AdmissionPlugin {
  const read = new WeakMap<CachedObject, ReadRange>();

  /** Each LimitRange in the namespace, in parts: they may be very many. */
  async function* rangesIn({ namespace, context }: AdmissionAttributes): AsyncGenerator<ReadRange> {
    const all = ranges.view.list(ranges.keys.inNamespace(namespace));
    context.weigh(all.length * BYTES_OF_RANGE);
    for (const cached of all) {
      await context.pause();
      // Stored objects have passed the schema of their kind.
      const known = read.get(cached) ?? readRange(cached.decode() as LimitRange);
      read.set(cached, known);
      yield known;
    }
  }

  return {
    name: "LimitRanger",

    async admit(attributes) {
      const { object } = attributes;
      if (!isAbout(attributes, "pods") || object === undefined) return object;
      let pod = object as Pod;
      for await (const range of rangesIn(attributes)) pod = withDefaults(pod, range);
      return pod as KubeObject;
    },

    async validate(attributes) {
      const { object } = attributes;
      const isPod = isAbout(attributes, "pods");
      if ((!isPod && !isAbout(attributes, "persistentvolumeclaims")) || object === undefined) return;
      const faultsOf = isPod ? createPodFaults(object as Pod) : createClaimFaults(object);
      for await (const { limits } of rangesIn(attributes)) {
        const faults = limits.flatMap(faultsOf);
        const [first] = faults;
        if (first === undefined) continue;
        const distinct = [...new Set(faults)];
        throw forbiddenByAdmission(attributes, distinct.length === 1 ? first : `[${distinct.join(", ")}]`);
      }
    },
  };
}

function readRange({ spec }: LimitRange): ReadRange {
  const limits: readonly Limit[] = spec?.limits ?? [];
  const ofContainers = limits.filter(({ type }) => type === "Container");
  return {
    limits: limits.map(({ type, min = {}, max = {}, maxLimitRequestRatio = {} }) => ({
      type,
      min: boundsIn(min),
      max: boundsIn(max),
      ratio: boundsIn(maxLimitRequestRatio),
    })),
    requests: Object.assign({}, ...ofContainers.map(({ defaultRequest }) => defaultRequest ?? {})),
    highest: Object.assign({}, ...ofContainers.map((limit) => limit.default ?? {})),
  };
}

const boundsIn = (list: List): readonly Bound[] =>
  Object.entries(list).map(([name, value]) => ({
    name,
    amount: parseAmount(quantityText(value)) ?? 0n,
    text: amountText(value),
  }));

/** Containers of a pod do not change; what a claim asks for may grow. */
const isAbout = ({ resource, operation, subresource }: AdmissionAttributes, plural: string): boolean =>
  resource.group === "" &&
  resource.plural === plural &&
  subresource === "" &&
  (operation === "create" || (operation === "update" && plural !== "pods"));

function withDefaults(pod: Pod, { requests, highest }: ReadRange): Pod {
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
        },
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

type FaultsOf = (limit: Bounds) => readonly string[];

/** The amounts of the pod are read once, for all limits. */
function createPodFaults({ spec }: Pod): FaultsOf {
  const whole = { requests: podAmounts(spec, "requests"), limits: podAmounts(spec, "limits") };
  const containers = [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])].map((container) => ({
    given: (container.resources ?? {}) as { readonly [field in ResourceField]?: List },
    asked: { requests: containerAmounts(container, "requests"), limits: containerAmounts(container, "limits") },
  }));
  return (limit) => {
    if (limit.type === "Pod") {
      return resourceFaults(limit, whole, (field, name) => sumText(name, whole[field].get(name) ?? 0n));
    }
    if (limit.type !== "Container") return [];
    return containers.flatMap(({ given, asked }) =>
      resourceFaults(limit, asked, (field, name) => amountText(given[field]?.[name])),
    );
  };
}

/** All that a claim has is its request. */
function createClaimFaults(claim: KubeObject): FaultsOf {
  const { resources } = (claim["spec"] ?? {}) as { readonly resources?: { readonly requests?: List } };
  const requests = amountsOf(resources?.requests);
  return ({ type, min, max }) => {
    if (type !== "PersistentVolumeClaim") return [];
    const compare = (which: string, isOutside: (asked: bigint, allowed: bigint) => boolean) =>
      (({ name, amount, text }) => {
        const what = `${which} ${name} usage per ${type} is ${text}`;
        const asked = requests.get(name);
        if (asked === undefined) return `${what}.  No request is specified`;
        return isOutside(asked, amount)
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
  };
}

function resourceFaults(
  { type, min, max, ratio: ratios }: Bounds,
  { requests, limits }: Asked,
  textOf: (field: ResourceField, name: string) => string,
): readonly string[] {
  return [
    ...each(min, ({ name, amount: least, text }) => {
      const [asked, top] = [requests.get(name), limits.get(name)];
      if (asked !== undefined && asked >= least && (top === undefined || top >= least)) return undefined;
      const what = `minimum ${name} usage per ${type} is ${text}`;
      if (asked === undefined) return `${what}.  No request is specified`;
      return asked < least
        ? `${what}, but request is ${textOf("requests", name)}`
        : `${what}, but limit is ${textOf("limits", name)}`;
    }),
    ...each(max, ({ name, amount: most, text }) => {
      const [asked, top] = [requests.get(name), limits.get(name)];
      if (top !== undefined && top <= most && (asked === undefined || asked <= most)) return undefined;
      const what = `maximum ${name} usage per ${type} is ${text}`;
      if (top === undefined) return `${what}.  No limit is specified`;
      return top > most
        ? `${what}, but limit is ${textOf("limits", name)}`
        : `${what}, but request is ${textOf("requests", name)}`;
    }),
    ...each(ratios, ({ name, amount: most, text }) => {
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

type Check = (bound: Bound) => string | undefined;

/** The text of a message is made only where there is one: limits times containers may be very many. */
function each(bounds: readonly Bound[], fault: Check): readonly string[] {
  const faults: string[] = [];
  for (const bound of bounds) {
    const found = fault(bound);
    if (found !== undefined) faults.push(found);
  }
  return faults;
}

const amountText = (value: JsonValue | undefined): string => canonicalQuantity(quantityText(value)) ?? "";

/** Memory is shown by powers of 1,024, all else by powers of 1,000. */
const sumText = (name: string, amount: bigint): string => {
  const isBinary = name.includes("memory") && amount % (1024n * ONE) === 0n;
  return (isBinary ? canonicalQuantity(`${amount / (1024n * ONE)}Ki`) : canonicalQuantity(`${amount}n`)) ?? "";
};
