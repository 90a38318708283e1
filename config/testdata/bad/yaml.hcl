# a file in another language
hosts:
  - name: web
    command: [web]
