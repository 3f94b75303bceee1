// `postern cluster leave` and `rotate`: end the tunnel of a cluster, or have its agent replace its key.

import type { Cluster } from "@postern/api/cluster";
import type { VirtualClusterInstance } from "@postern/api/virtual-cluster-instance";
import { Command } from "commander";
import type { CommandContext } from "../command-context.ts";
import { type ConfirmFlags, confirm, withYesOption } from "../confirm.ts";
import { type ConnectionFlags, withClient } from "../connection-options.ts";
import { type OutputFlags, withOutputOption, writeAs } from "../output/output-option.ts";
import { connectedOf, mergePatch, named, type PlaceFlags, withPlaceOptions } from "./clusters.ts";

type LeaveFlags = ConnectionFlags & OutputFlags & ConfirmFlags & PlaceFlags;

export const createClusterLeaveCommand = (context: CommandContext): Command =>
  withOutputOption(
    withPlaceOptions(
      withYesOption(
        new Command("leave")
          .description("close the tunnel of a cluster, and revoke the keys of its agent; asks first on a terminal")
          .argument("<name>", "name of the Cluster, which is kept"),
      ),
    ),
  ).action((name: string, flags: LeaveFlags) =>
    withClient(flags, context, async (client, group) => {
      const question = async (): Promise<string> => {
        await connectedOf(client, group, flags).get(name);
        return `Close the tunnel of ${named(name, flags)}? Requests to it are refused until it joins again.`;
      };
      await confirm(question, flags, context);
      const left = await connectedOf(client, group, flags).patch(name, mergePatch({ spec: { networkPeer: false } }));
      if (!writeAs(flags, shown(left), context)) context.stdout.write(`${named(name, flags)} left\n`);
      context.stderr.write("in that cluster: kubectl delete namespace postern-agent\n");
    }),
  );

/** The domain of annotations is that of the platform's group, without `management.`. */
const rotateAnnotation = (group: string): string => `${group.replace(/^management\./, "")}/rotate-agent-key`;

export const createClusterRotateCommand = (context: CommandContext): Command =>
  withOutputOption(
    withPlaceOptions(
      new Command("rotate")
        .description("have the agent of a cluster replace its key now; it does so regularly by itself")
        .argument("<name>", "name of the Cluster"),
    ),
  ).action((name: string, flags: ConnectionFlags & OutputFlags & PlaceFlags) =>
    withClient(flags, context, async (client, group) => {
      const annotations = { [rotateAnnotation(group)]: new Date().toISOString() };
      const asked = await connectedOf(client, group, flags).patch(name, mergePatch({ metadata: { annotations } }));
      if (!writeAs(flags, shown(asked), context))
        context.stdout.write(`the agent of ${named(name, flags)} replaces its key, once it is connected\n`);
    }),
  );

const shown = ({ metadata, spec = {} }: Cluster | VirtualClusterInstance) => ({
  name: metadata.name ?? "",
  networkPeer: spec.networkPeer === true,
});
