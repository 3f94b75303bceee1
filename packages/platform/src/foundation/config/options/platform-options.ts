// Options of the platform: names, access keys and kubeconfigs.

import { choiceOption, integerOption, listOption, switchOption, textOption } from "../option.ts";
import { dnsLabelOrEmpty, dnsSubdomain, namespacePrefix, networks } from "../rules.ts";

/** Ten years: a longer TTL in seconds is more likely a wrong unit. */
const MAX_TTL_SECONDS = 10 * 366 * 86_400;

/** Default TTLs: see bootstrap/default-ttl.ts. */
export const UNSET_TTL = -1;

export const platformOptions = {
  platform: {
    domain: textOption({
      flag: "platform-domain",
      placeholder: "<domain>",
      default: "postern",
      description:
        "Domain of the API groups (management.<domain>) and of label and annotation keys (<domain>/…). A store keeps it from its first start on, with the next two options: a server with others does not start",
      rule: dnsSubdomain,
    }),
    name: textOption({
      flag: "platform-name",
      placeholder: "<name>",
      default: "",
      defaultText: "first label of the platform's domain",
      description: "Prefix of user and group names of the platform, such as <name>:user:jane",
      rule: dnsLabelOrEmpty,
    }),
    projectNamespacePrefix: textOption({
      flag: "project-namespace-prefix",
      placeholder: "<prefix>",
      default: "p-",
      description: "Prefix of project namespaces, before the name of the project",
      rule: namespacePrefix,
    }),
  },
  accessKeys: {
    maxTTLSeconds: integerOption({
      flag: "access-key-max-ttl-seconds",
      placeholder: "<seconds>",
      default: 0,
      min: 0,
      max: MAX_TTL_SECONDS,
      defaultText: "0 (no limit)",
      description: "Maximum TTL of access keys; longer TTLs, and keys without one, are reduced to it",
    }),
    defaultTTLSeconds: integerOption({
      flag: "access-key-default-ttl-seconds",
      placeholder: "<seconds>",
      default: UNSET_TTL,
      min: 0,
      max: MAX_TTL_SECONDS,
      defaultText: "7776000 (90 days) if the store is new with this release, 0 (never expires) otherwise",
      description:
        "TTL of access keys created without spec.ttl. A longer TTL, or a key that never expires, requires the verb extend on ownedaccesskeys",
    }),
    machineDefaultTTLSeconds: integerOption({
      flag: "access-key-machine-default-ttl-seconds",
      placeholder: "<seconds>",
      default: UNSET_TTL,
      min: 0,
      max: MAX_TTL_SECONDS,
      defaultText: "accessKeys.defaultTTLSeconds if that is set, 0 (never expires) otherwise",
      description:
        "TTL of access keys of teams and subjects, such as keys for CI. Without the verb extend, the default TTL for users applies",
    }),
    maxPerOwner: integerOption({
      flag: "access-key-max-per-owner",
      placeholder: "<keys>",
      default: 1_000,
      min: 0,
      max: 1_000_000,
      description:
        "Maximum number of access keys for one user, team or subject, including keys in kubeconfigs. 0 for no limit",
    }),
    maxMiBPerOwner: integerOption({
      flag: "access-key-max-mib-per-owner",
      default: 16,
      min: 1,
      max: 65_536,
      description: "Size of all access keys of one user, team or subject, in MiB, above which none is created",
    }),
    keepExpiredSeconds: integerOption({
      flag: "access-key-keep-expired-seconds",
      placeholder: "<seconds>",
      default: 86_400,
      min: 0,
      max: MAX_TTL_SECONDS,
      description: "How long expired and revoked access keys are kept before they are deleted",
    }),
    rememberValuesDays: integerOption({
      flag: "access-key-remember-values-days",
      placeholder: "<days>",
      default: 365,
      min: 1,
      max: 3_650,
      description:
        "How long a value that was chosen for an access key stays reserved for its owner after the key is deleted",
    }),
    requireAudience: switchOption({
      flag: "access-key-require-audience",
      default: false,
      description:
        "Whether token reviews, and clusters that check keys, accept only access keys that have them in spec.audiences. Otherwise a key without audiences is for all receivers",
    }),
    leaked: choiceOption({
      flag: "leaked-access-keys",
      choices: ["disable", "report"],
      default: "disable",
      description:
        "What to do with access keys that are reported as leaked at /leaks: disable them, or only record an Event",
    }),
  },
  proxy: {
    allowedAddresses: listOption({
      flag: "proxy-allowed-addresses",
      placeholder: "<network,…>",
      default: [],
      defaultText: "none, except for public addresses and connected clusters",
      description:
        "Private networks and addresses, such as 10.20.0.0/16, of external virtual clusters and of issuers in trust rules, and of identity providers on this machine",
      rule: networks,
    }),
    healthCheckIntervalSeconds: integerOption({
      flag: "proxy-health-check-interval-seconds",
      placeholder: "<seconds>",
      default: 30,
      min: 1,
      max: 3600,
      description: "Interval of health checks for connected clusters, spaces and external virtual clusters",
    }),
  },
  agent: {
    image: textOption({
      flag: "agent-image",
      placeholder: "<image>",
      default: "",
      defaultText: "postern:<version of the server>",
      description: "Image in the manifests for the agent of a connected cluster",
    }),
  },
  customResources: {
    enabled: switchOption({
      flag: "custom-resources",
      default: false,
      description:
        "Accept CustomResourceDefinitions in the management API. Embedded virtual clusters accept them in any case",
    }),
  },
  kubeConfig: {
    proxyFallback: switchOption({
      flag: "kube-config-proxy-fallback",
      default: false,
      description:
        "Issue kubeconfigs with the platform's proxy address for virtual clusters without an ingress endpoint, instead of refusing",
    }),
  },
};
