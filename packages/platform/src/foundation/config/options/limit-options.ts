// Options for limits per client.

import { integerOption, numberOption } from "../option.ts";

const perSecond = (flag: string, description: string) =>
  integerOption({ flag, default: 0, defaultText: "0 (no limit)", min: 0, max: 1_000_000, description });

const percentOption = (flag: string, percent: number, description: string) =>
  integerOption({ flag, default: percent, min: 1, max: 100, description });

const countOption = (flag: string, count: number, description: string) =>
  integerOption({ flag, default: count, min: 1, max: 1_000_000, description });

const backlogOption = (flag: string, mib: number, max: number, whose: string) =>
  integerOption({
    flag,
    default: mib,
    min: 1,
    max,
    description: `Events waiting to be sent ${whose}, in MiB. At the limit, the largest watch is closed, and its client lists again`,
  });

export const limitOptions = {
  history: {
    maxAgeSeconds: integerOption({
      flag: "history-max-age-seconds",
      default: 300,
      min: 1,
      max: 86_400,
      description: "How long the store keeps its history, so that watches can resume and paged lists can continue",
    }),
    maxMiB: integerOption({
      flag: "history-max-mib",
      default: 512,
      min: 16,
      max: 65_536,
      description: "Size of the history, in MiB, above which the oldest part is dropped regardless of its age",
    }),
  },
  memoryLimitMiB: integerOption({
    flag: "memory-limit-mib",
    default: 0,
    min: 0,
    max: 16_777_216,
    defaultText: "the limit of the cgroup, otherwise the physical memory",
    description:
      "Memory that the server may use, in MiB. The budgets for what is stored follow from it; 0 for the default",
  }),
  threads: integerOption<undefined>({
    flag: "threads",
    default: undefined,
    min: 1,
    max: 16,
    defaultText: "one, and further ones under load, up to --max-threads",
    description:
      "Threads that serve requests, all on the one port, from the start on: as many processors are used. Limits and memory are shared out among them. More than 1 needs Linux, Node 23.1 or later, and SQLite or etcd as the store",
  }),
  maxThreads: integerOption<undefined>({
    flag: "max-threads",
    default: undefined,
    min: 1,
    max: 16,
    defaultText: "as many as there are processors, and at most 4",
    description:
      "Threads that may serve requests without --threads. Further ones begin after ten seconds in which those that run were busy, and end after five minutes without need. Not more than 1 where threads cannot share a port or the store",
  }),
  clusterThreads: integerOption<undefined>({
    flag: "cluster-threads",
    default: undefined,
    min: 0,
    max: 64,
    defaultText: "one for two processors, each with 1 GiB of the memory limit, at most 4",
    description:
      "Threads that serve the virtual clusters of the built-in cluster. A cluster that holds up its thread, or takes too much memory, does not affect the rest of the server. With --threads, so many for each of these. 0: the server serves them itself",
  }),
  projects: {
    maxMiB: integerOption({
      flag: "project-max-mib",
      default: 64,
      min: 1,
      max: 65_536,
      description:
        "Size of all objects of one project outside its virtual clusters, in MiB, unless its spec.quotas has another",
    }),
    maxObjects: countOption(
      "project-max-objects",
      20_000,
      "Maximum number of objects of one project outside its virtual clusters, unless its spec.quotas has another",
    ),
  },
  maxRequestsInflight: integerOption({
    flag: "max-requests-inflight",
    default: 400,
    min: 0,
    max: 1_000_000,
    description:
      "Maximum number of concurrent read requests, without watches. Further requests are queued, then answered with 429. 0 for no limit",
  }),
  maxMutatingRequestsInflight: integerOption({
    flag: "max-mutating-requests-inflight",
    default: 200,
    min: 0,
    max: 1_000_000,
    description:
      "Maximum number of concurrent write requests. Further requests are queued, then answered with 429. 0 for no limit",
  }),
  goawayChance: numberOption({
    flag: "goaway-chance",
    default: 0,
    defaultText: "0 (off)",
    min: 0,
    max: 0.02,
    description:
      "Share of the HTTP/2 requests behind which the client's connection ends, so that clients spread over the servers behind a load balancer and over threads; 0.001 suits most. Requests under way are not affected",
  }),
  connections: {
    max: countOption("max-connections", 20_000, "Maximum number of authenticated connections"),
    maxStrangers: countOption("max-stranger-connections", 4_096, "Maximum number of unauthenticated connections"),
    maxHandshakes: countOption("max-tls-handshakes", 512, "Maximum number of connections in the TLS handshake"),
    sharePercent: percentOption(
      "connections-share-percent",
      25,
      "Share of these connections for one source address (IPv6: one /64) and for one user. At the limit, the client with the most connections loses the longest idle one",
    ),
    handshakeTimeoutSeconds: integerOption({
      flag: "tls-handshake-timeout-seconds",
      default: 5,
      min: 1,
      max: 120,
      description: "Timeout for TLS handshakes",
    }),
    strangerTimeoutSeconds: integerOption({
      flag: "stranger-timeout-seconds",
      default: 30,
      min: 1,
      max: 3600,
      description: "Idle timeout for unauthenticated connections",
    }),
  },
  watchBacklog: {
    perWatchMiB: backlogOption("watch-backlog-mib", 8, 16, "of one watch"),
    perConnectionMiB: backlogOption("connection-watch-backlog-mib", 16, 24, "of all watches of one connection"),
    totalMiB: backlogOption(
      "total-watch-backlog-mib",
      128,
      1024,
      "of all watches, at most a sixteenth of the memory limit",
    ),
  },
  fairness: {
    userSharePercent: percentOption(
      "fairness-user-share-percent",
      50,
      "Share of the concurrent requests, and of the memory for request bodies, for one user",
    ),
    keySharePercent: percentOption("fairness-key-share-percent", 25, "The same for one access key"),
    queueSeconds: integerOption({
      flag: "fairness-queue-seconds",
      default: 15,
      min: 0,
      max: 60,
      description: "How long a request is queued before it is answered with 429",
    }),
    bodyMiB: integerOption({
      flag: "fairness-body-mib",
      default: 256,
      min: 16,
      max: 1024,
      description:
        "Memory for request bodies, in MiB, at most an eighth of the memory limit. At the limit, the largest requests of the largest user are answered with 429",
    }),
  },
  rateLimits: {
    keyQPS: perSecond("key-rate-limit-qps", "Requests per second for one access key"),
    keyBurst: perSecond("key-rate-limit-burst", "Burst of requests for one access key; 0 for twice the rate"),
    sourceQPS: perSecond("source-rate-limit-qps", "Requests per second for one source address"),
    sourceBurst: perSecond("source-rate-limit-burst", "Burst of requests for one source address; 0 for twice the rate"),
    failedLoginsPerMinute: integerOption({
      flag: "failed-logins-per-minute",
      default: 30,
      min: 0,
      max: 1_000_000,
      description:
        "Failed logins per minute and source address, after which further failures are delayed by one second; valid credentials are never delayed. 0 for no limit",
    }),
  },
};
