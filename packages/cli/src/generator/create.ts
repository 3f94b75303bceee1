// `postern generator create`: keeps a Secret with kubeconfigs for virtual clusters of a project.

import { labelSelectorOf } from "@postern/api/cluster-selector";
import { GENERATED_FORMATS } from "@postern/api/kubeconfig-generator";
import { type LabelSelector, parseLabelSelector } from "@postern/apimachinery/selectors/label-selector";
import { Command, InvalidArgumentError, Option } from "commander";
import type { CommandContext } from "../command-context.ts";
import { type ConnectionFlags, withClient } from "../connection-options.ts";
import { parseDurationSeconds } from "../duration-seconds.ts";
import { withNotes } from "../help/help.ts";
import { type OutputFlags, withOutputOption, writeAs } from "../output/output-option.ts";
import { plainText } from "../output/plain-text.ts";
import { generatorsOf, type ProjectFlags, withProjectOption } from "./generators.ts";

type Labels = { readonly [key: string]: string };

type CreateFlags = ConnectionFlags &
  OutputFlags &
  ProjectFlags & {
    readonly selector?: LabelSelector;
    readonly readOnly?: boolean;
    readonly ttl?: number;
    readonly format?: string;
    readonly secret?: string;
    readonly secretKey?: string;
    readonly secretLabel?: Labels;
    readonly copyLabel?: readonly string[];
    readonly argocdProject?: string;
    readonly argocdNamespace?: readonly string[];
    readonly argocdClusterResources?: boolean;
    readonly argocdShard?: number;
  };

export const createGeneratorCreateCommand = (context: CommandContext): Command =>
  withProjectOption(
    withOutputOption(
      withNotes(
        new Command("create")
          .description("create a kubeconfig generator; the credentials in its Secrets are yours")
          .argument("<name>", "name of the generator")
          .option("--selector <labels>", "labels of the virtual clusters, as for kubectl (default: all)", parseSelector)
          .option("--read-only", "read-only credentials, without access to Secrets")
          .option("--ttl <duration>", "TTL of each credential, from 1h to 31d (default: 1d)", parseDurationSeconds)
          .addOption(new Option("--format <format>", "format of the Secrets").choices(GENERATED_FORMATS))
          .option(
            "--secret <name>",
            "name of the Secret, which must not exist yet (default: the name of the generator)",
          )
          .option("--secret-key <key>", "key of the kubeconfig in the Secret (default: config; for Flux: value)")
          .option("--secret-label <key=value>", "label of the Secrets; may be repeated", parseLabel)
          .option(
            "--copy-label <key>",
            "label that each Secret gets from its virtual cluster; may be repeated",
            andBefore,
          )
          .option("--argocd-project <name>", "AppProject of Argo CD that the clusters belong to")
          .option(
            "--argocd-namespace <name>",
            "namespace that Argo CD manages; may be repeated (default: all)",
            andBefore,
          )
          .option("--argocd-cluster-resources", "Argo CD manages resources without a namespace as well")
          .option("--argocd-shard <number>", "shard of Argo CD's application controller", parseShard),
        "The Secrets are in the namespace of the project. `postern generator get` shows when they are current.",
      ),
      ["text", "json", "yaml", "name"],
    ),
  ).action((name: string, flags: CreateFlags) =>
    withClient(flags, context, async (client, group) => {
      const { selector = {}, readOnly, ttl, format, secret = name, secretKey } = flags;
      const { secretLabel: labels, copyLabel: copyLabels } = flags;
      const secretTemplate = {
        ...(labels === undefined ? {} : { labels }),
        ...(copyLabels === undefined ? {} : { copyLabels }),
      };
      const argoCD = {
        ...(flags.argocdProject === undefined ? {} : { project: flags.argocdProject }),
        ...(flags.argocdNamespace === undefined ? {} : { namespaces: flags.argocdNamespace }),
        ...(flags.argocdClusterResources === undefined ? {} : { clusterResources: flags.argocdClusterResources }),
        ...(flags.argocdShard === undefined ? {} : { shard: flags.argocdShard }),
      };
      const made = await generatorsOf(client, group, flags).create({
        apiVersion: `${group}/v1`,
        kind: "KubeconfigGenerator",
        metadata: { name },
        spec: {
          selector,
          ...(readOnly === true ? { role: "view" } : {}),
          ...(ttl === undefined ? {} : { ttlSeconds: ttl }),
          ...(format === undefined ? {} : { format }),
          secretRef: { name: secret, ...(secretKey === undefined ? {} : { key: secretKey }) },
          ...(Object.keys(argoCD).length === 0 ? {} : { argoCD }),
          ...(Object.keys(secretTemplate).length === 0 ? {} : { secretTemplate }),
        },
      });
      const { namespace = "" } = made.metadata;
      if (writeAs(flags, { name, secret: `${namespace}/${secret}` }, context, [name])) return;
      context.stdout.write(`${plainText(`kubeconfig generator ${name} keeps the Secret ${namespace}/${secret}`)}\n`);
    }),
  );

const andBefore = (text: string, before: readonly string[] = []): readonly string[] => [...before, text];

/** Throws commander's InvalidArgumentError. */
function parseShard(text: string): number {
  if (!/^\d{1,4}$/.test(text)) throw new InvalidArgumentError("write a number");
  return Number(text);
}

/** Throws commander's InvalidArgumentError. */
function parseLabel(text: string, before: Labels = {}): Labels {
  const at = text.indexOf("=");
  if (at < 1) throw new InvalidArgumentError("write it as key=value");
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) };
}

/** `env=dev,tier in (a,b),!old` as `spec.selector`. Throws commander's InvalidArgumentError, so that the message names the flag. */
export function parseSelector(text: string): LabelSelector {
  try {
    return labelSelectorOf(parseLabelSelector(text).requirements);
  } catch (error) {
    throw new InvalidArgumentError(error instanceof Error ? error.message : String(error));
  }
}
