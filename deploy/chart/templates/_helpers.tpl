{{- define "mooring.labels" -}}
app.kubernetes.io/name: mooring
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end }}

{{- define "mooring.image" -}}
{{ .Values.image.repository }}
{{- with .Values.image.digest }}@{{ . }}{{ else }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end }}
{{- end }}

{{- /* A cluster has our volumes once, and the control plane of every other driver in a namespace of its own beside them. */ -}}
{{- define "mooring.controllerRole" -}}
mooring-controller{{ if not .Values.engine.enabled }}-{{ .Release.Namespace }}{{ end }}
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

{{- /* Seconds of a time such as 40s, 2m or 1h. */ -}}
{{- define "mooring.seconds" -}}
{{- $unit := get (dict "s" 1 "m" 60 "h" 3600) (regexFind "[smh]$" .) -}}
{{- mul (regexFind "^\\d+" . | int64) $unit -}}
{{- end }}

{{- define "mooring.namedOnce" -}}
{{- $names := list -}}
{{- range .items -}}
{{- if has .name $names }}{{ fail (printf "%s: the name %s is there twice" $.what .name) }}{{ end -}}
{{- $names = append $names .name -}}
{{- end -}}
{{- end }}

{{- /* Each folder is mounted by itself: two are not one, and none hides another one. What a container has anyway may have more in it. */ -}}
{{- define "mooring.apart" -}}
{{- $one := printf "%s/" (clean .one.path | trimSuffix "/") -}}
{{- $other := printf "%s/" (clean .other.path | trimSuffix "/") -}}
{{- if or (hasPrefix $one $other) (and (hasPrefix $other $one) (not .other.may)) (eq $one $other) -}}
{{- fail (printf "%s and %s are one folder, or one is in the other: each is mounted by itself" .one.what .other.what) -}}
{{- end -}}
{{- end }}

{{- /* Expressions of admission policies: whether a node writes, and which one, by the name that the API server puts into a pod's token. */ -}}
{{- define "mooring.isFromNode" -}}
request.userInfo.username == "system:serviceaccount:{{ .Release.Namespace }}:mooring-node"
{{- end }}
{{- define "mooring.nodeOfToken" -}}
request.userInfo.?extra["authentication.kubernetes.io/node-name"].orValue([""])[0]
{{- end }}
