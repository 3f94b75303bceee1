// The value of an access key, which the server shows once, and the request that it is made for. Only this component keeps them.

import type { KeyScope } from "@postern/api/access-key-scope";
import { useMutation } from "@tanstack/react-query";
import { useAuthority } from "../../api/use-authority.ts";
import { Badge } from "../../components/badge.tsx";
import { Button } from "../../components/button.tsx";
import { Code, CopyButton, DownloadButton } from "../../components/copy-text.tsx";
import { ErrorNotice, Notice } from "../../components/notice.tsx";
import { t } from "../../texts/text.tsx";
import { commandsOf, type KeyTrial, sendTrial, trialOf } from "./key-trial.ts";

type SecretProps = {
  readonly name: string;
  readonly value: string;
  /** Undefined for a key without limits. */
  readonly scope: KeyScope | undefined;
};

export function SecretValue({ name, value, scope }: SecretProps) {
  const authority = useAuthority();
  const trial = trialOf(scope);
  return (
    <div className="stack">
      <Notice tone="warn">{t("secret.once")}</Notice>
      <div className="secret">
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable with the keyboard */}
        <code className="secret-value" tabIndex={0} data-testid="secret-value">
          {value}
        </code>
        <CopyButton text={value} />
        <DownloadButton text={`${value}\n`} fileName={`${name}.key`} />
      </div>
      {authority !== "" && (
        <div className="secret">
          <p className="hint">{t("secret.authority")}</p>
          <DownloadButton text={authority} fileName="ca.crt" label={t("secret.authority.download")} />
        </div>
      )}
      <Code label={t("secret.try")} text={commandsOf(trial, name, location.origin, authority !== "")} />
      <Trial trial={trial} value={value} />
    </div>
  );
}

/** The first of the commands, from this page. */
function Trial({ trial, value }: { readonly trial: KeyTrial; readonly value: string }) {
  const sent = useMutation({ mutationFn: () => sendTrial(trial, value), gcTime: 0 });
  const { cluster } = trial;
  const names = cluster === undefined ? undefined : `${cluster.project}-${cluster.name}`;
  return (
    <>
      <div className="actions">
        <Button isPending={sent.isPending} onPress={() => sent.mutate()}>
          {t(names === undefined ? "secret.try.send" : "secret.try.kubeconfig")}
        </Button>
        <span className="hint">{t(names === undefined ? "secret.try.send.hint" : "secret.try.kubeconfig.hint")}</span>
      </div>
      <div aria-live="polite" className="stack">
        {sent.isError && <ErrorNotice error={sent.error} />}
        {sent.data !== undefined && (
          <>
            <p>
              <Badge tone={sent.data.status < 300 ? "good" : "bad"}>
                {t(sent.data.status < 300 ? "secret.try.done" : "secret.try.refused", { status: sent.data.status })}
              </Badge>
            </p>
            <Code
              label={t(sent.data.isKubeconfig ? "secret.try.answer.kubeconfig" : "secret.try.answer")}
              text={sent.data.text}
              {...(sent.data.isKubeconfig
                ? { actions: <DownloadButton text={sent.data.text} fileName={`${names}.kubeconfig`} /> }
                : {})}
            />
          </>
        )}
      </div>
    </>
  );
}
