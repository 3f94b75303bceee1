// The next steps of a new installation, or of a person who is new here. Each ticks itself off.

import type { Cluster } from "@postern/api/cluster";
import type { IdentityProvider } from "@postern/api/identity-provider";
import type { OwnedAccessKey } from "@postern/api/owned-access-key";
import type { Project } from "@postern/api/project";
import type { VirtualClusterInstance } from "@postern/api/virtual-cluster-instance";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Circle, CircleCheck } from "lucide-react";
import { useMemo, useState } from "react";
import { useApi } from "../../api/api-context.tsx";
import { searchAudit } from "../../api/audit-search.ts";
import { CLUSTERS, IDENTITY_PROVIDERS, PROJECTS } from "../../api/resources.ts";
import { useLive } from "../../api/use-live.ts";
import { useMay } from "../../api/use-may.ts";
import { Button } from "../../components/button.tsx";
import { Code } from "../../components/copy-text.tsx";
import { DocsLink } from "../../components/docs-link.tsx";
import { Section } from "../../components/page-head.tsx";
import { namespaceOf } from "../../settings.ts";
import { t } from "../../texts/text.tsx";
import {
  hasOpenStep,
  type KeyFacts,
  keyFacts,
  type Step,
  stepsOfAdministrator,
  stepsOfMember,
} from "./next-steps-state.ts";
import type { Activity } from "./use-activity.ts";

const STORED = "postern-next-steps";
/** The namespace of the project that the first start creates. */
const FIRST_NAMESPACE = namespaceOf("default");
const HIDDEN = "hidden";
const BACKUP_PATH = "/backup";
const BACKUP_COMMAND = "postern backup --out store.backup --revocations-out keys.list";
/** Requests of the audit log that are looked through for a backup. */
const LOOKED_THROUGH = "1000";

/** `keys`: all that the user can see. Renders nothing for an installation that is older than a month, or after it was hidden. */
export function NextSteps(props: {
  readonly keys: readonly OwnedAccessKey[];
  readonly clusters: readonly VirtualClusterInstance[];
  readonly activity: Activity | undefined;
  readonly now: number;
}) {
  const { keys, clusters, activity, now } = props;
  const { session } = useApi();
  const [isHidden, setHidden] = useState(() => localStorage.getItem(STORED) === HIDDEN);
  const facts = useMemo(() => keyFacts(keys, session.user, now), [keys, session.user, now]);
  if (isHidden || !facts.isNew) return null;
  const hide = (): void => {
    localStorage.setItem(STORED, HIDDEN);
    setHidden(true);
  };
  const alerts = activity?.alerts;
  return (
    <Steps
      facts={facts}
      hasCluster={clusters.some((cluster) => cluster.metadata.namespace !== FIRST_NAMESPACE)}
      hasAlerts={alerts && (alerts.webhook || alerts.metricsReadAt !== undefined)}
      onHide={hide}
    />
  );
}

function Steps(props: {
  readonly facts: KeyFacts;
  readonly hasCluster: boolean;
  readonly hasAlerts: boolean | undefined;
  readonly onHide: () => void;
}) {
  const { facts, hasCluster, hasAlerts, onHide } = props;
  const mayProject = useMay({ verb: "create", resource: "projects" });
  const mayProvider = useMay({ verb: "create", resource: "identityproviders" });
  const mayHost = useMay({ verb: "create", resource: "clusters" });
  const mayBackUp = useMay({ verb: "post", path: BACKUP_PATH });
  const projects = useLive<Project>(PROJECTS);
  const providers = useLive<IdentityProvider>(IDENTITY_PROVIDERS, { isWanted: mayProvider.isAllowed });
  const hosts = useLive<Cluster>(CLUSTERS, { isWanted: mayHost.isAllowed });
  const hasBackup = useHasBackup(mayBackUp.isAllowed);
  const rights = [mayProject, mayProvider, mayHost, mayBackUp];
  const lists = [projects, providers, hosts];
  if (rights.some(({ isKnown }) => !isKnown) || lists.some(({ isLoading }) => isLoading)) return null;
  const found = {
    projects: projects.items,
    providers: providers.items,
    hosts: hosts.items,
    hasBackup,
    hasCluster,
    hasAlerts,
  };
  const steps = mayProject.isAllowed
    ? stepsOfAdministrator(facts, found, {
        provider: mayProvider.isAllowed,
        host: mayHost.isAllowed,
        backup: mayBackUp.isAllowed,
      })
    : stepsOfMember(facts, found);
  if (!hasOpenStep(steps)) return null;
  const done = steps.filter(({ isDone }) => isDone);
  return (
    <Section
      title={t("steps.title")}
      lead={t("steps.lead")}
      actions={
        <Button kind="quiet" onPress={onHide}>
          {t("steps.hide")}
        </Button>
      }
    >
      <ul className="lines card steps">
        {steps
          .filter(({ isDone }) => !isDone)
          .map((step) => (
            <StepLine key={step.id} step={step} />
          ))}
      </ul>
      {done.length > 0 && (
        <details className="aside">
          <summary>{t("state.steps", { done: done.length, all: steps.length })}</summary>
          <ul className="lines card steps">
            {done.map((step) => (
              <StepLine key={step.id} step={step} />
            ))}
          </ul>
        </details>
      )}
    </Section>
  );
}

function StepLine({ step: { id, to, guide, isDone } }: { readonly step: Step }) {
  const { session } = useApi();
  const Icon = isDone ? CircleCheck : Circle;
  return (
    <li>
      <Icon className={isDone ? "yes" : "open"} role="img" aria-label={t(isDone ? "steps.done" : "steps.open")} />
      <div>
        {to === undefined ? <strong>{t(`steps.${id}`)}</strong> : <Link to={to}>{t(`steps.${id}`)}</Link>}
        {!isDone && <p className="hint">{t(`steps.${id}.hint`, { name: session.user })}</p>}
        {!isDone && guide !== undefined && <DocsLink to={guide}>{t("steps.guide")}</DocsLink>}
        {!isDone && id === "backup" && <Code label={t("steps.backup.command")} text={BACKUP_COMMAND} />}
      </div>
    </li>
  );
}

/** Whether the audit log of the server has a backup; false if it cannot be searched. */
function useHasBackup(isWanted: boolean): boolean {
  const { client } = useApi();
  const { data } = useQuery({
    queryKey: ["audit", "backup"],
    enabled: isWanted,
    async queryFn({ signal }) {
      const query = { verb: "post", limit: LOOKED_THROUGH };
      const { items } = await searchAudit(client, query, signal);
      return items.some(({ object, code }) => object.endsWith(BACKUP_PATH) && code === 200);
    },
    retry: false,
    staleTime: 30_000,
  });
  return data === true;
}
