// Every recorded request again, each answer held against what kube-apiserver answered: status, content, and text.

import { expect, test } from "vitest";
import { ACCEPTED_DEVIATIONS } from "./golden/accepted-deviations.ts";
import { prepareScenario } from "./golden/prepare-scenario.ts";
import { replayScenario } from "./golden/replay.ts";
import { readScenarios } from "./golden/transcript.ts";
import { startServer } from "./testing/start-server.ts";

test.concurrent.each(readScenarios().map((scenario) => [`${scenario.id}: ${scenario.title}`, scenario] as const))(
  "%s",
  async (_name, scenario) => {
    await using server = await startServer();
    await prepareScenario(scenario.id, server.client);
    const results = await replayScenario(scenario, server.client);

    const unexpected = results.filter(({ id, differences }) => differences.length > 0 && !(id in ACCEPTED_DEVIATIONS));
    expect(unexpected).toEqual([]);

    const outdated = results.filter(({ id, differences }) => differences.length === 0 && id in ACCEPTED_DEVIATIONS);
    expect(outdated.map(({ id }) => id)).toEqual([]);
  },
);
