{{- define "mooring.labels" -}}
app.kubernetes.io/name: mooring
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end }}

{{- define "mooring.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "mooring.cephFolder" -}}
/etc/mooring/ceph/{{ .name }}
{{- end }}

{{- /* What --rbd-pool takes: names and paths. */ -}}
{{- define "mooring.cephPool" -}}
{{- $folder := include "mooring.cephFolder" . -}}
{{ .name }}=conf:{{ $folder }}/ceph.conf,user:{{ .user }},pool:{{ .pool }},
{{- with .namespace }}namespace:{{ . }},{{ end -}}
{{- with .flatten }}flatten:{{ . }},{{ end -}}
keyring:{{ $folder }}/keyring
{{- end }}
