// Saves a kubeconfig at once, as it was chosen the last time in this browser; the first one, and other ones, are chosen in the dialog.

import type { VirtualClusterInstance } from "@postern/api/virtual-cluster-instance";
import { useMutation } from "@tanstack/react-query";
import { Download } from "lucide-react";
import { useApi } from "../../api/api-context.tsx";
import { Button } from "../../components/button.tsx";
import { saveFile } from "../../components/copy-text.tsx";
import { ErrorNotice } from "../../components/notice.tsx";
import { t } from "../../texts/text.tsx";
import { lifeText, lifeWithin, secondsLeft } from "./kubeconfig-lives.ts";
import { fileOf, issueKubeconfig, rememberedWish } from "./kubeconfig-wish.ts";

/** `onOther` opens the dialog. */
export function KubeconfigAgain(props: { readonly cluster: VirtualClusterInstance; readonly onOther: () => void }) {
  const { cluster, onOther } = props;
  const { client, session } = useApi();
  const wish = rememberedWish();
  const issue = useMutation({
    async mutationFn() {
      if (wish === undefined) return;
      const left = secondsLeft(session.expiresAt, Date.now());
      saveFile((await issueKubeconfig(client, cluster, wish, left)).text, fileOf(cluster));
    },
    gcTime: 0,
  });
  // A command has nothing to save.
  if (wish === undefined || wish.kind === "exec")
    return (
      <Button kind="primary" onPress={onOther}>
        {t("kubeconfig.get")}
      </Button>
    );
  const life = lifeText(lifeWithin(wish.life, secondsLeft(session.expiresAt, Date.now())));
  const how = [t(`kubeconfig.kind.${wish.kind}`), life, ...(wish.isReadOnly ? [t("kubeconfig.readOnly")] : [])];
  return (
    <>
      <Button kind="primary" isPending={issue.isPending} onPress={() => issue.mutate()}>
        <Download aria-hidden="true" />
        {t("kubeconfig.again")}
      </Button>
      <Button onPress={onOther}>{t("kubeconfig.another")}</Button>
      <span className="hint" aria-live="polite">
        {issue.isSuccess ? t("kubeconfig.saved") : t("kubeconfig.as", { how: how.join(", ") })}
      </span>
      {issue.isError && <ErrorNotice error={issue.error} />}
    </>
  );
}
