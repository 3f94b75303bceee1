// Options that bound what clients may ask for at once.

import { integerOption } from "../option.ts";

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
    description: `How many MiB may wait for the clients ${whose}; the watch with the most is ended, and its client lists again`,
  });

export const limitOptions = {
  history: {
    maxAgeSeconds: integerOption({
      flag: "history-max-age-seconds",
      default: 300,
      min: 1,
      max: 86_400,
      description: "How long the store keeps what was replaced, so that watches can be resumed and lists be continued",
    }),
    maxMiB: integerOption({
      flag: "history-max-mib",
      default: 512,
      min: 16,
      max: 65_536,
      description: "About how many MiB may be written before the store forgets the oldest of it, however young that is",
    }),
  },
  maxRequestsInflight: integerOption({
    flag: "max-requests-inflight",
    default: 400,
    min: 0,
    max: 1_000_000,
    description:
      "Reads worked on at once, watches aside. More wait for their turn, and are answered 429 when it does not come. 0 for no limit",
  }),
  maxMutatingRequestsInflight: integerOption({
    flag: "max-mutating-requests-inflight",
    default: 200,
    min: 0,
    max: 1_000_000,
    description:
      "Writes worked on at once. More wait for their turn, and are answered 429 when it does not come. 0 for no limit",
  }),
  connections: {
    max: countOption("max-connections", 20_000, "Connections on which somebody showed a valid credential"),
    maxStrangers: countOption("max-stranger-connections", 4_096, "Connections on which nobody has done so yet"),
    maxHandshakes: countOption("max-tls-handshakes", 512, "Connections before the end of their TLS handshake"),
    sharePercent: percentOption(
      "connections-share-percent",
      25,
      "How many of these may come from one address (of IPv6 one /64), and how many with a credential from one user; whoever has most loses the longest idle one",
    ),
    handshakeTimeoutSeconds: integerOption({
      flag: "tls-handshake-timeout-seconds",
      default: 5,
      min: 1,
      max: 120,
      description: "How long a TLS handshake may take",
    }),
    strangerTimeoutSeconds: integerOption({
      flag: "stranger-timeout-seconds",
      default: 30,
      min: 1,
      max: 3600,
      description: "How long a connection may be idle on which nobody has shown a valid credential",
    }),
  },
  watchBacklog: {
    perWatchMiB: backlogOption("watch-backlog-mib", 8, 16, "of one watch"),
    perConnectionMiB: backlogOption("connection-watch-backlog-mib", 16, 24, "of all watches of one connection"),
    totalMiB: backlogOption("total-watch-backlog-mib", 128, 1024, "of all watches"),
  },
  fairness: {
    userSharePercent: percentOption(
      "fairness-user-share-percent",
      50,
      "How much of the requests worked on at once, and of the memory for bodies, one user may hold",
    ),
    keySharePercent: percentOption("fairness-key-share-percent", 25, "The same for one access key"),
    queueSeconds: integerOption({
      flag: "fairness-queue-seconds",
      default: 15,
      min: 0,
      max: 60,
      description: "How long a request waits for its turn before it is answered 429",
    }),
    bodyMiB: integerOption({
      flag: "fairness-body-mib",
      default: 256,
      min: 16,
      max: 1024,
      description:
        "How many MiB of request bodies are kept in memory; the largest of whoever holds most are answered 429",
    }),
  },
  rateLimits: {
    keyQPS: perSecond("key-rate-limit-qps", "Requests a second that one access key may send over time"),
    keyBurst: perSecond(
      "key-rate-limit-burst",
      "Requests that one access key may send at once; 0 means twice its rate",
    ),
    sourceQPS: perSecond("source-rate-limit-qps", "Requests a second that one source address may send over time"),
    sourceBurst: perSecond(
      "source-rate-limit-burst",
      "Requests that one source address may send at once; 0 means twice its rate",
    ),
    failedLoginsPerMinute: integerOption({
      flag: "failed-logins-per-minute",
      default: 30,
      min: 0,
      max: 1_000_000,
      description:
        "Wrong credentials that one source address may send in a minute before each further refusal is held back for a second; good ones are never slowed down. 0 for no limit",
    }),
  },
};
