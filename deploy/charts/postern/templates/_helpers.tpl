{{- define "postern.name" -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- end -}}

{{- define "postern.selector" -}}
app.kubernetes.io/name: postern
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "postern.labels" -}}
{{ include "postern.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "postern.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}{{ .repository }}@{{ .digest }}{{- else -}}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{- end -}}
{{- end -}}
{{- end -}}

{{- define "postern.tlsSecret" -}}
{{- if .Values.tls.certManager.enabled -}}{{ include "postern.name" . }}-tls{{- else -}}{{ .Values.tls.secret }}{{- end -}}
{{- end -}}

{{- define "postern.onEtcd" -}}
{{- if eq .Values.store.type "etcd" -}}true{{- end -}}
{{- end -}}

{{- define "postern.replicas" -}}
{{- .Values.replicas | default 2 -}}
{{- end -}}

{{/* The ConfigMap with the bootstrap manifests; nothing where there are none. */}}
{{- define "postern.bootstrap" -}}
{{- if .Values.bootstrap.configMap -}}{{ .Values.bootstrap.configMap }}
{{- else if .Values.bootstrap.manifests -}}{{ include "postern.name" . }}-bootstrap
{{- end -}}
{{- end -}}

{{/* A file of it: text as it is, a list as documents. */}}
{{- define "postern.manifests" -}}
{{- if kindIs "string" . -}}{{ . }}
{{- else if kindIs "slice" . -}}{{- range . }}
---
{{ toYaml . }}
{{- end }}
{{- else -}}{{ toYaml . }}
{{- end -}}
{{- end -}}

{{/* What the kube-apiserver of this cluster says of the requests that it forwards; nothing where helm reads no cluster. */}}
{{- define "postern.requestHeader" -}}
{{- $map := lookup "v1" "ConfigMap" "kube-system" "extension-apiserver-authentication" | default dict -}}
{{- dig "data" (index . 1) "" $map -}}
{{- end -}}

{{- define "postern.requestHeaderCA" -}}
{{- $found := .Values.aggregatedApi.clientCA | default (include "postern.requestHeader" (list . "requestheader-client-ca-file")) -}}
{{- required "aggregatedApi.clientCA is empty, and helm cannot read requestheader-client-ca-file of the ConfigMap kube-system/extension-apiserver-authentication" $found -}}
{{- end -}}

{{/* The CA of the server's own certificate. */}}
{{- define "postern.servingCA" -}}
{{- $secret := include "postern.tlsSecret" . | default (ternary .Values.store.etcd.identitySecret "" (eq .Values.store.type "etcd")) -}}
{{- $stored := dict -}}
{{- if $secret -}}{{- $stored = lookup "v1" "Secret" .Release.Namespace $secret | default dict -}}{{- end -}}
{{- $found := .Values.aggregatedApi.caBundle | default (dig "data" "ca.crt" "" $stored | b64dec) -}}
{{- required "aggregatedApi.caBundle is empty: set it to ca.crt of the server, which verifies its certificate" $found -}}
{{- end -}}

{{/* The configuration file: what the values say, and .Values.config over it. */}}
{{- define "postern.config" -}}
{{- $config := dict "dataDir" "/data" "bindAddress" "0.0.0.0" "securePort" 8443 -}}
{{- if .Values.externalHostname -}}{{- $_ := set $config "externalHostname" .Values.externalHostname -}}{{- end -}}
{{- if include "postern.tlsSecret" . -}}
{{- $_ := set $config "tlsCertFile" "/tls/tls.crt" -}}
{{- $_ := set $config "tlsPrivateKeyFile" "/tls/tls.key" -}}
{{- $_ := set $config "tlsCaFile" "/tls/ca.crt" -}}
{{- else -}}
{{- $service := printf "%s.%s.svc" (include "postern.name" .) .Release.Namespace -}}
{{- $_ := set $config "tlsSans" (list (include "postern.name" .) $service) -}}
{{- end -}}
{{- if include "postern.onEtcd" . -}}
{{- $etcd := .Values.store.etcd -}}
{{/* The data directory ends with the pod: the audit log goes where the cluster collects logs. */}}
{{- $_ := set $config "audit" (dict "logPath" "-") -}}
{{- $_ := set $config "store" (printf "etcd://%s" (join "," $etcd.endpoints)) -}}
{{- $settings := dict "prefix" $etcd.prefix -}}
{{- if $etcd.tlsSecret -}}
{{- $settings = merge $settings (dict "caFile" "/etcd-tls/ca.crt" "certFile" "/etcd-tls/tls.crt" "keyFile" "/etcd-tls/tls.key") -}}
{{- end -}}
{{- $_ := set $config "etcd" $settings -}}
{{- end -}}
{{- if .Values.aggregatedApi.enabled -}}
{{- $names := .Values.aggregatedApi.allowedNames | default (include "postern.requestHeader" (list . "requestheader-allowed-names") | default "[]" | fromJsonArray) -}}
{{- $frontProxy := dict "clientCAFile" "/config/requestheader-ca.crt" -}}
{{- if $names -}}{{- $_ := set $frontProxy "allowedNames" $names -}}{{- end -}}
{{- $_ := set $config "frontProxy" $frontProxy -}}
{{- end -}}
{{- if include "postern.bootstrap" . -}}
{{- $_ := set $config "bootstrap" (dict "dir" "/bootstrap" "drift" .Values.bootstrap.drift) -}}
{{- end -}}
{{- mergeOverwrite $config .Values.config | toYaml -}}
{{- end -}}

{{- define "postern.pod" -}}
metadata:
  labels:
    {{- include "postern.selector" . | nindent 4 }}
    {{- with .Values.podLabels }}{{ toYaml . | nindent 4 }}{{- end }}
  annotations:
    checksum/config: {{ include "postern.config" . | sha256sum }}
    {{- with .Values.bootstrap.manifests }}
    checksum/bootstrap: {{ toYaml . | sha256sum }}
    {{- end }}
    {{- with .Values.podAnnotations }}{{ toYaml . | nindent 4 }}{{- end }}
spec:
  serviceAccountName: {{ include "postern.name" . }}
  automountServiceAccountToken: false
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ .Values.terminationGracePeriodSeconds }}
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets: {{ toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 1000
    runAsGroup: 1000
    fsGroup: 1000
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile:
      type: RuntimeDefault
  {{- if include "postern.onEtcd" . }}
  initContainers:
    # The data directory has to be writable, and a Secret is not.
    - name: identity
      image: {{ include "postern.image" . }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      command:
        - node
        - -e
        - |
          const { copyFileSync, chmodSync } = require("fs");
          for (const name of ["server.key", "ca.crt", "ca.key"]) {
            copyFileSync("/identity/" + name, "/data/" + name);
            chmodSync("/data/" + name, 0o600);
          }
      securityContext: {{ include "postern.containerSecurity" . | nindent 8 }}
      resources: {{ toYaml .Values.resources | nindent 8 }}
      volumeMounts:
        - name: data
          mountPath: /data
        - name: identity
          mountPath: /identity
          readOnly: true
  {{- end }}
  containers:
    - name: postern
      image: {{ include "postern.image" . }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      args: [serve, --config, /config/postern.yaml]
      {{- with .Values.extraEnv }}
      env: {{ toYaml . | nindent 8 }}
      {{- end }}
      ports:
        - name: https
          containerPort: 8443
      startupProbe:
        httpGet: &ready
          path: /readyz
          port: https
          scheme: HTTPS
        periodSeconds: 2
        failureThreshold: 150
      readinessProbe:
        httpGet: *ready
        periodSeconds: 5
      livenessProbe:
        httpGet:
          path: /livez
          port: https
          scheme: HTTPS
        periodSeconds: 10
        failureThreshold: 6
      securityContext: {{ include "postern.containerSecurity" . | nindent 8 }}
      resources: {{ toYaml .Values.resources | nindent 8 }}
      volumeMounts:
        - name: data
          mountPath: /data
        - name: config
          mountPath: /config
          readOnly: true
        {{- if include "postern.bootstrap" . }}
        - name: bootstrap
          mountPath: /bootstrap
          readOnly: true
        {{- end }}
        {{- if include "postern.tlsSecret" . }}
        - name: tls
          mountPath: /tls
          readOnly: true
        {{- end }}
        {{- if and (include "postern.onEtcd" .) .Values.store.etcd.tlsSecret }}
        - name: etcd-tls
          mountPath: /etcd-tls
          readOnly: true
        {{- end }}
        {{- with .Values.extraVolumeMounts }}{{ toYaml . | nindent 8 }}{{- end }}
  volumes:
    - name: config
      configMap:
        name: {{ include "postern.name" . }}
    {{- with include "postern.bootstrap" . }}
    - name: bootstrap
      configMap:
        name: {{ . }}
    {{- end }}
    {{- if include "postern.tlsSecret" . }}
    - name: tls
      secret:
        secretName: {{ include "postern.tlsSecret" . }}
        defaultMode: 0440
    {{- end }}
    {{- if include "postern.onEtcd" . }}
    # The server key and the key of the CA are on no disk of a node.
    - name: data
      emptyDir:
        medium: Memory
        sizeLimit: 64Mi
    - name: identity
      secret:
        secretName: {{ .Values.store.etcd.identitySecret }}
        defaultMode: 0440
    {{- if .Values.store.etcd.tlsSecret }}
    - name: etcd-tls
      secret:
        secretName: {{ .Values.store.etcd.tlsSecret }}
        defaultMode: 0440
    {{- end }}
    {{- end }}
    {{- with .Values.extraVolumes }}{{ toYaml . | nindent 4 }}{{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector: {{ toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations: {{ toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity: {{ toYaml . | nindent 4 }}
  {{- end }}
  topologySpreadConstraints:
    {{- with .Values.topologySpreadConstraints }}
    {{- toYaml . | nindent 4 }}
    {{- else }}
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "postern.selector" . | nindent 10 }}
    {{- end }}
{{- end -}}

{{- define "postern.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}
